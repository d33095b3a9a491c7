import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { commandName, commandScripts } from '../../../src/extension/commandScripts.ts';

test('the script passes its arguments on, from any path, and finds Node if the editor is gone', (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'rl-bin-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const odd = join(folder, `it's "a" $HOME folder`);
	mkdirSync(odd);
	const [node, cli] = [join(odd, 'node'), join(odd, 'cli.mjs')];
	symlinkSync(process.execPath, node);
	writeFileSync(
		cli,
		'console.log(JSON.stringify([process.env.ELECTRON_RUN_AS_NODE ?? null, ...process.argv.slice(2)]))',
	);
	const run = (program: { node: string; electron: boolean }) => {
		const text = commandScripts({ ...program, cli }, false).get(commandName) ?? '';
		writeFileSync(join(folder, commandName), text, { mode: 0o755 });
		const { ELECTRON_RUN_AS_NODE: _, ...env } = process.env;
		const PATH = [folder, dirname(process.execPath), env.PATH].join(delimiter);
		const out = execFileSync(commandName, ['mcp', '--folder', '.', 'a b', "'"], {
			env: { ...env, PATH },
			encoding: 'utf8',
		});
		return JSON.parse(out) as unknown;
	};
	assert.deepEqual(run({ node, electron: true }), ['1', 'mcp', '--folder', '.', 'a b', "'"]);
	assert.deepEqual(run({ node, electron: false }), [null, 'mcp', '--folder', '.', 'a b', "'"]);
	assert.deepEqual(run({ node: join(folder, 'gone'), electron: false }), [null, 'mcp', '--folder', '.', 'a b', "'"]);
});

test('on Windows, a batch file is also written, with percent signs doubled', () => {
	const scripts = commandScripts({ node: 'C:\\100% code\\Code.exe', electron: true, cli: 'C:\\x\\cli.js' }, true);
	assert.deepEqual([...scripts.keys()], [commandName, `${commandName}.cmd`]);
	const batch = scripts.get(`${commandName}.cmd`) ?? '';
	assert.match(batch, /set ELECTRON_RUN_AS_NODE=1\r\n/);
	assert.match(batch, /"C:\\100%% code\\Code\.exe" "C:\\x\\cli\.js" %\*/);
});
