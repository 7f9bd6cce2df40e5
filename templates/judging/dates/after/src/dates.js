export function shortDate(date) {
  return `${date.getUTCDate()}.${date.getUTCMonth() + 1}.`;
}

export function isoDate(date) {
  return date.toISOString().slice(0, 10);
}
