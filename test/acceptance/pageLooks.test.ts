/**
 * Checks the appearance of every page in every state with axe, in all themes and at the smallest width, and with hostile
 * texts; `npm test` uses axe once for each view.
 */
import { definePageTests } from './pageTests.ts';

process.env.TEST_LOOKS = 'all';

await definePageTests();
