/** Paths that the project's scripts read from and write to. */
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Logs, screenshots and results of the last test run. A run inside a test has its own folder. */
export const artifacts = process.env.TEST_ARTIFACTS ?? join(root, 'test/artifacts');
export const screenshots = join(artifacts, 'screenshots');
/** Folder for screenshots taken by tests, for manual review. If undefined, only failures are captured. */
export const pictures = process.env.TEST_PICTURES;
/** Downloads and generated files for tests and the demo. Can be deleted at any time. */
export const cache = join(root, '.vscode-test');
/** Cached VSIX for this platform; see package.ts. */
export const keptPackage = join(cache, 'extension.vsix');
/** The project's own Node 24, which runs the scripts. */
export const node = process.execPath;
