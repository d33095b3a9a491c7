/** `npm run cli -- VERB ...`: the command line program of this clone. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { buildIfStale } from './build.ts';
import { node, root } from './paths.ts';

await buildIfStale();
// npm changes to the project's folder; paths that a person types are relative to where they are.
const cwd = process.env.INIT_CWD ?? process.cwd();
const child = spawn(node, [join(root, 'dist/cli.js'), ...process.argv.slice(2)], { stdio: 'inherit', cwd });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
