import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discounted } from './discount.js';

test('a code takes its part off, however it is written', () => {
  assert.equal(discounted(100, 'welcome').total, 95);
});

test('a code that nobody gave out is refused', () => {
  const { total, message } = discounted(100, 'nope');
  assert.equal(total, 100);
  assert.match(message, /no code/);
});
