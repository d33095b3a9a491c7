// @reaches cli engine rewardPython
import assert from 'node:assert/strict';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/paths.ts';
import { Workplace } from './cliFixtures.ts';

/** Options that make the tutorial's run as short as possible without changing what it does. */
const shortest = [
	...['workers=1', 'evaluate.problems=8', 'stages.0.steps=2', 'stages.0.batch_size=8'],
	...['stages.1.steps=2', 'stages.1.prompts_per_step=2'],
].flatMap((set) => ['--set', set]);

/** Commands whose own process would test nothing more. */
const here = new Set(['query', 'inspect', 'report', 'export-environment']);

/** Splits a command line at spaces, except within double quotes. */
const wordsOf = (command: string) => [...command.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);

test('the commands in docs/environments.md lead from nothing to a trained model', {
	timeout: 240_000,
}, async (context) => {
	const page = await readFile(join(root, 'docs/environments.md'), 'utf8');
	// The commands of later sections need packages and servers.
	const [own = ''] = page.split('\n## verifiers\n');
	const blocks = [...own.matchAll(/^```(sh|json)\n([\s\S]*?)^```/gm)].map(([, kind, text = '']) => ({ kind, text }));
	let place = await Workplace.make(context);
	const project = join(place.folder, 'my-tools');
	const environment = join(project, 'guess.env.py');
	const labels = join(project, 'guess.episodes.jsonl');
	const shown = new Map<string, string>();
	for (const { kind, text } of blocks) {
		if (kind === 'json') {
			if (text.startsWith('{"name": "hints"')) await writeFile(labels, text);
			continue;
		}
		for (const command of text.trim().split('\n')) {
			if (command === 'cd my-tools') {
				place = await Workplace.make(context, project);
				continue;
			}
			const [program, verb = '', ...args] = wordsOf(command);
			assert.equal(program, 'reasoning-lab', command);
			const given = [verb, ...args.map((arg) => (arg === 'nodes=100' ? 'nodes=10' : arg))];
			const ended = here.has(verb)
				? await place.call(...given)
				: await place.run(context, ...given, ...(verb === 'run' ? shortest : []));
			assert.equal(ended.status, 0, `${command}\n${ended.stdout}${ended.stderr}`);
			shown.set(verb === 'query' ? (args[1] as string) : verb, ended.stdout);
		}
	}
	assert.deepEqual(
		[...shown.keys()].map((command) => command.split(' ')[0]),
		[
			...[
				'new',
				'verify-environment',
				'run-episodes',
				'run',
				'select',
				'select',
				'inspect',
				'report',
				'export-environment',
				'search',
			],
		],
	);
	assert.match(shown.get('run-episodes') ?? '', /^ {2}> guess\(\{"number":8\}\)$/m);
	assert.match(shown.get('inspect') ?? '', /^status: finished, step 4 of 4$/m);
	await access(join(project, 'guess-report.html'));
	await access(join(project, 'guess-trl/train.py'));

	const asked = await place.call('evaluate', '--policy', 'guess', '--run', 'guess');
	assert.equal(asked.status, 2);
	assert.match(
		asked.stderr,
		/guess trains on an environment, .* query accuracy: reasoning-lab query guess "from evaluations"/,
	);
	const planned = await place.call('sweep', 'guess.recipe.json', '--vary', 'stages.1.learning_rte=1,2', '--dry-run');
	assert.equal(planned.status, 2);
	assert.match(planned.stderr, /"learning_rte" is not a valid key/);
	const longer = await place.call('sweep', 'guess.recipe.json', '--vary', 'stages.0.steps=300,1000', '--dry-run');
	assert.match(longer.stdout, /^2 runs, at most 2,800 steps\.$/m, longer.stderr);

	// What the tutorial says about swapped hints.
	const code = await readFile(environment, 'utf8');
	assert.match(code, /"up" if number < self._number else "down"/);
	await writeFile(
		environment,
		code.replace('"up" if number < self._number else "down"', '"down" if number < self._number else "up"'),
	);
	const exchanged = await place.call('verify-environment', 'guess.env.py');
	assert.equal(exchanged.status, 1, exchanged.stdout + exchanged.stderr);
	assert.match(
		exchanged.stdout,
		/^guess\.episodes\.jsonl:1: error: hints: call 1 \(guess\) gives "up", but "down" is expected/m,
	);
	assert.match(exchanged.stdout, /· 1 error$/m);
});
