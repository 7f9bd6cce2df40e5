const form = document.getElementById('sign-up');
const send = document.getElementById('send');
const trouble = document.getElementById('trouble');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  send.disabled = true;
  trouble.textContent = '';
  try {
    const reply = await fetch('/sign-up', { method: 'POST', body: new FormData(form) });
    if (!reply.ok) {
      trouble.textContent = await reply.text();
    }
  } catch {
    trouble.textContent = 'The server did not answer.';
  } finally {
    send.disabled = false;
  }
});
