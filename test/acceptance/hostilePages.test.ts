/** Tests every page with every hostile string in three passes; `npm test` runs one. */
process.env.HOSTILE_PASSES = 'all';

await import('../unit/webview/hostilePages.test.ts');

export {};
