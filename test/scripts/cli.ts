/** `npm run cli -- VERB ...`: this clone's command-line program. */
import { join } from 'node:path';
import { buildIfStale } from './build.ts';
import { node, root } from './paths.ts';
import { attached } from './process.ts';

await buildIfStale();
// npm changes to the project folder, but paths that a user types are relative to the directory they were in.
const cwd = process.env.INIT_CWD ?? process.cwd();
process.exitCode = await attached(node, [join(root, 'dist/cli.js'), ...process.argv.slice(2)], cwd);
