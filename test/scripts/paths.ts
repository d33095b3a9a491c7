/** Where the project's scripts read and write. */
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Logs, screenshots and results of the last test run; a run inside a test has its own. */
export const artifacts = process.env.TEST_ARTIFACTS ?? join(root, 'test/artifacts');
export const screenshots = join(artifacts, 'screenshots');
/** Folder for pictures of what tests see, for people; undefined: none are taken, but of what fails. */
export const pictures = process.env.TEST_PICTURES;
/** What is downloaded or made for tests and the demo; may be removed at any time. */
export const cache = join(root, '.vscode-test');
/** The VSIX of this platform that is kept, see package.ts. */
export const keptPackage = join(cache, 'extension.vsix');
/** The project's own Node 24; scripts run with it. */
export const node = process.execPath;
