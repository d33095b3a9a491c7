/**
 * Runs the tests of all pages with late frames and messages, as on a busy machine. This finds tests that inspect a page
 * without waiting for a redraw, and pages that lose what is typed or clicked in the meantime.
 */
import { definePageTests } from './pageTests.ts';

process.env.TEST_LATE ??= '150';

await definePageTests();
