/** Runs the suites in test/integration/suites inside desktop VS Code, if it is installed. */
// @reaches extension
import { describe, test } from 'node:test';
import { desktop, runOnDesktop } from '../scripts/desktop.ts';
import { declareSuites } from './hostSuites.ts';

const found = desktop();

if ('missing' in found) test('suites in desktop VS Code', { skip: found.missing }, () => undefined);
else describe('desktop VS Code', () => declareSuites(runOnDesktop));
