export const CODES = [
  { code: 'SPRING', percent: 10, until: '2020-06-01' },
  { code: 'WELCOME', percent: 5, until: '2099-01-01' },
];
