import { CODES } from './codes.js';

export function discounted(total, entered) {
  const wanted = entered.trim().toUpperCase();
  const found = CODES.find((each) => each.code === wanted);
  if (!found) {
    return { total, message: `There is no code ${entered}` };
  }
  return { total: total * (1 - found.percent / 100), message: '' };
}
