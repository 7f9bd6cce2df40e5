import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slug } from '../src/slug.js';

test('a title becomes an address', () => {
  assert.equal(slug('  Crème brûlée -- at home! '), 'creme-brulee-at-home');
});
