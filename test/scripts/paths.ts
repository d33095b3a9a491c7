/** Where the project's scripts read and write. */
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Logs, screenshots and results of the last test run. */
export const artifacts = join(root, 'test/artifacts');
export const screenshots = join(artifacts, 'screenshots');
/** What is downloaded or made for tests and the demo; may be removed at any time. */
export const cache = join(root, '.vscode-test');
/** The project's own Node 24; scripts run with it. */
export const node = process.execPath;
