/**
 * Runs the tests of all pages with late frames and messages, as on a busy machine, which finds tests that look at a page
 * without waiting until it is redrawn, and pages that lose what is typed or clicked in the meantime.
 */
import { definePageTests } from './pageTests.ts';

process.env.TEST_LATE ??= '150';

await definePageTests();
