const MARKS = /[\u0300-\u036f]/g;

export function slug(title) {
  return title
    .normalize('NFD')
    .replace(MARKS, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
