import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { completionScript } from '../../../src/cli/completion/completionScript.ts';
import { allVerbs } from '../../../src/cli/verbs.ts';

const verbs = await allVerbs();

/** Returns a shell's output, or null if the shell is not installed. */
function shell(program: string, args: readonly string[], cwd?: string): string | null {
	const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', ...(cwd ? { cwd } : {}) });
	if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null;
	assert.equal(status, 0, stderr);
	assert.equal(stderr, '');
	return stdout;
}

test('bash completes verbs, options and values', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'rl-'));
	context.after(() => rm(folder, { recursive: true }));
	await writeFile(join(folder, 'my recipe.json'), '');
	const script = join(folder, 'completion.bash');
	await writeFile(script, completionScript('bash', verbs));
	/** Returns the completions for the last word. */
	const complete = (...words: string[]) => {
		const quoted = words.map((word) => `'${word}'`).join(' ');
		const line = `. ./completion.bash; COMP_WORDS=(reasoning-lab ${quoted}); COMP_CWORD=${words.length}; _reasoning_lab; printf '%s\\n' "\${COMPREPLY[@]}"`;
		return (shell('bash', ['-c', line], folder) as string).split('\n').filter((one) => one !== '');
	};
	assert.deepEqual(complete('comp'), ['compare', 'compare-strategies', 'completion']);
	assert.equal(complete('').length, verbs.length + 2);
	for (const verb of verbs) {
		const expected = [...Object.keys(verb.options), 'json', 'help'].map((name) => `--${name}`);
		assert.deepEqual(complete(verb.name, '--'), expected, verb.name);
	}
	assert.deepEqual(complete('export', 'run', '--as', 's'), ['sft']);
	assert.deepEqual(complete('export', 'run', '--as', '=', 's'), ['sft']);
	assert.deepEqual(complete('pipeline', ''), ['status', 'resume', 'stop']);
	assert.deepEqual(complete('dataset', 'check', 'my'), ['my recipe.json']);
	assert.deepEqual(complete('run', 'my'), ['my recipe.json']);
	assert.deepEqual(complete('help', 'sta'), ['status']);
	assert.deepEqual(complete('run', '--seed', ''), []);
});

test('zsh and fish accept their scripts', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'rl-'));
	context.after(() => rm(folder, { recursive: true }));
	for (const program of ['zsh', 'fish'] as const) {
		const path = join(folder, program);
		await writeFile(path, completionScript(program, verbs));
		if (shell(program, ['-n', path]) === null) context.diagnostic(`${program} is not installed`);
	}
	const zsh = `autoload -Uz compinit; compinit -D -u; . ${join(folder, 'zsh')}; print $_comps[reasoning-lab]`;
	assert.ok([null, '_reasoning_lab\n'].includes(shell('zsh', ['-f', '-c', zsh])));
	const ask = (line: string) => shell('fish', ['-N', '-c', `source ${join(folder, 'fish')}; complete -C '${line}'`]);
	const words = ask('reasoning-lab comp');
	if (words === null) return;
	assert.match(words, /^compare\t.*\ncompare-strategies\t.*\ncompletion\t/);
	assert.match(ask('reasoning-lab export x --as ') ?? '', /^sft\t/m);
	assert.match(ask('reasoning-lab pipeline ') ?? '', /^resume(\t|$)/m);
	assert.match(ask('reasoning-lab run --se') ?? '', /^--seed\t[\s\S]*^--set\t/m);
});
