/** `npm run cli -- VERB ...`: the command line program of this clone. */
import { join } from 'node:path';
import { buildIfStale } from './build.ts';
import { node, root } from './paths.ts';
import { attached } from './process.ts';

await buildIfStale();
// npm changes to the project's folder; paths that a person types are relative to where they are.
const cwd = process.env.INIT_CWD ?? process.cwd();
process.exitCode = await attached(node, [join(root, 'dist/cli.js'), ...process.argv.slice(2)], cwd);
