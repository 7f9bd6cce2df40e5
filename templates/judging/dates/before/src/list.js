import { shortDate } from './dates.js';

export function row(invoice) {
  return `${shortDate(invoice.date)} ${invoice.number} ${invoice.sum}`;
}

export function list(invoices) {
  return invoices.map(row).join('\n');
}
