export function shortDate(date) {
  return `${date.getUTCDate()}.${date.getUTCMonth() + 1}.`;
}
