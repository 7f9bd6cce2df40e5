import { isoDate, shortDate } from './dates.js';

export const rowDate = isoDate;

export function row(invoice) {
  return `${shortDate(invoice.date)} ${invoice.number} ${invoice.sum}`;
}

export function list(invoices) {
  return invoices.map(row).join('\n');
}
