import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToPython } from '../../runner/pythonPath.ts';

const work = mkdtempSync(join(tmpdir(), 'pp-'));
after(() => rmSync(work, { recursive: true, force: true }));

/** Creates a folder with a program `python3`. */
function folder(name: string, script: string): string {
	const path = join(work, name);
	mkdirSync(path);
	writeFileSync(join(path, 'python3'), `#!/bin/sh\n${script}\n`);
	chmodSync(join(path, 'python3'), 0o755);
	return path;
}

const posixOnly = process.platform === 'win32' && 'requires a shell';

test('the interpreter that a version manager starts comes first on the PATH', { skip: posixOnly }, () => {
	const version = folder('version', 'echo "$0"');
	const shims = folder('shims', `exec ${version}/python3 "$@"`);
	const rest = [shims, '/usr/bin', '/bin'].join(delimiter);
	const path = pathToPython(rest);
	assert.equal(path, `${version}${delimiter}${rest}`);
	assert.equal(execFileSync('python3', { env: { PATH: path }, encoding: 'utf8' }).trim(), join(version, 'python3'));
	assert.equal(pathToPython(path), path);
});

test('a PATH stays as it is if it contains the folder of the interpreter, no interpreter, or one that fails', {
	skip: posixOnly,
}, () => {
	const later = folder('later', 'echo "$0"');
	const first = folder('first', `exec ${later}/python3 "$@"`);
	const failing = folder('failing', 'exit 1');
	const silent = folder('silent', 'exit 0');
	const paths = [`${later}${delimiter}/bin`, `${first}${delimiter}${later}`, join(work, 'none'), failing, silent];
	for (const path of paths) assert.equal(pathToPython(path), path);
});
