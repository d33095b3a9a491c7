/** Every page with every hostile text, in three passes: `npm test` makes one. */
process.env.HOSTILE_PASSES = 'all';

await import('../unit/webview/hostilePages.test.ts');

export {};
