import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { decodeResolvedRecipe } from '../../../../src/core/recipe/resolve.ts';
import { LinkEnvironments } from '../../../../src/engines/driver/linkEnvironments.ts';
import { prepareRun } from '../../../../src/runs/prepareRun.ts';
import { checkRewardCopies } from '../../../../src/runs/rewardCopies.ts';
import { readResolvedRecipe } from '../../../../src/runs/runReader.ts';
import { guessing } from '../../episodes/guessingEnvironment.ts';
import { guessingScript } from '../../episodes/guessingScript.ts';
import { rewardFolder } from '../../rewards/hostFixtures.ts';

const recipe = (changes: object = {}) => ({
	name: 'guess',
	engine: 'pytorch',
	dataset: { path: 'rows.jsonl' },
	model: { path: 'model' },
	template: { prompt: '{prompt}', think: null, answer: null, chat: true },
	environment: { file: 'tasks/guess.env.py' },
	rewards: [{ use: 'environment' }],
	stages: [{ type: 'grpo', steps: 2, learning_rate: 1e-3 }],
	...changes,
});

describe('the environment of a run', async () => {
	const folder = await rewardFolder();
	await mkdir(join(folder, 'tasks'));
	await mkdir(join(folder, 'model'));
	await writeFile(join(folder, 'rows.jsonl'), '{"prompt": "Guess.", "answer": null}\n');
	await writeFile(join(folder, 'tasks/guess.env.py'), `from limits import top\n${guessing}`);
	await writeFile(join(folder, 'tasks/limits.py'), 'top = 9\n');
	await writeFile(join(folder, 'r.recipe.json'), JSON.stringify(recipe()));
	const run = (await prepareRun(join(folder, 'r.recipe.json'))).folder;
	const resolved = decodeResolvedRecipe(await readResolvedRecipe(run));
	const link = new LinkEnvironments(run, resolved);
	after(() => link.dispose());

	it('is the copy in the run folder, with its imports', async () => {
		assert.deepEqual(resolved.environment, { file: 'rewards/guess.env.py', maxTurns: null, turnSeconds: 10 });
		assert.deepEqual(
			resolved.rewardFiles?.map(({ path }) => path),
			['rewards/guess.env.py', 'rewards/limits.py'],
		);
		await checkRewardCopies(run, resolved);
		const { environment } = await link.describe();
		assert.deepEqual([environment.name, environment.tools.map(({ name }) => name)], ['Guess', ['guess']]);
	});

	it('plays episodes in instances numbered by the trainer', async () => {
		assert.deepEqual(await link.reset({ instance: 0, row: { number: 4 } }), {
			observation: ' Guess my number from 1 to 8.',
			state: { number: 4, tries: 0, done: false },
		});
		await link.reset({ instance: 1, row: { number: 5 } });
		const call = (instance: number, given: unknown) => link.call({ instance, name: 'guess', arguments: given });
		const won = { number: 4, tries: 1, done: true };
		assert.deepEqual(await call(0, { value: 4 }), { content: 'correct', failed: false, done: true, state: won });
		const { state, ...wrong } = await call(1, { value: 4 });
		assert.deepEqual(wrong, { content: 'higher', failed: false, done: false });
		assert.deepEqual(state, { number: 5, tries: 1, done: false });
		assert.deepEqual(await call(0, { value: 4 }), {
			content: "{'error': 'The game is over.'}",
			failed: true,
			done: true,
			message: 'The game is over.',
			state: won,
		});
		assert.deepEqual(await link.reward({ instance: 0 }), { value: 1 });
		assert.deepEqual(await link.reward({ instance: 1 }), { value: 0 });
		await link.reset({ instance: 0, row: { number: 6 } });
		assert.deepEqual(await link.reward({ instance: 0 }), { value: 0 });
	});

	it('has one process per training process, each with its own instances', async (t) => {
		const two = new LinkEnvironments(run, resolved, 2);
		t.after(() => two.dispose());
		await two.reset({ instance: 0, row: { number: 4 } });
		await two.reset({ process: 1, instance: 0, row: { number: 5 } });
		const call = { instance: 0, name: 'guess', arguments: { value: 4 } };
		assert.deepEqual(
			[(await two.call(call)).content, (await two.call({ ...call, process: 1 })).content],
			['correct', 'higher'],
		);
		await two.reload();
		assert.deepEqual(
			[(await two.reward({ instance: 0 })).value, (await two.reward({ process: 1, instance: 0 })).value],
			[1, 0],
		);
		await assert.rejects(
			two.reset({ process: 2, instance: 0, row: {} }),
			/Process 2 used the environment, but the highest process number is 1/,
		);
	});

	it('reports why an episode failed', async () => {
		const failed = await link.reset({ instance: 0, row: { number: null } });
		assert.equal(failed.error?.kind, 'threw');
		assert.equal(failed.error?.during, 'reset');
		await assert.rejects(link.reward({ instance: 9 }), /used the environment instance 9 before a reset/);
	});
});

describe('the environment of a run in TypeScript', () => {
	it('is copied with its imports, and answers all requests of a trainer', async () => {
		const folder = await rewardFolder();
		await mkdir(join(folder, 'model'));
		await writeFile(join(folder, 'rows.jsonl'), '{"prompt": "Guess.", "answer": null}\n');
		await writeFile(join(folder, 'guess.env.ts'), `import { top } from './limits.ts';\nvoid top;\n${guessingScript}`);
		await writeFile(join(folder, 'limits.ts'), 'export const top = 9;\n');
		const written = JSON.stringify(recipe({ environment: { file: 'guess.env.ts' } }));
		await writeFile(join(folder, 'r.recipe.json'), written);
		const run = (await prepareRun(join(folder, 'r.recipe.json'))).folder;
		const resolved = decodeResolvedRecipe(await readResolvedRecipe(run));
		assert.deepEqual(
			resolved.rewardFiles?.map(({ path }) => path),
			['rewards/guess.env.ts', 'rewards/limits.ts'],
		);
		const link = new LinkEnvironments(run, { ...resolved, log: { ...resolved.log, states: false } });
		after(() => link.dispose());
		const { environment } = await link.describe();
		assert.deepEqual(environment.tools[0]?.schema?.parameters.required, ['value']);
		assert.deepEqual(await link.reset({ instance: 0, row: { number: 4 } }), {
			observation: ' Guess my number from 1 to 8.',
		});
		assert.equal((await link.call({ instance: 0, name: 'guess', arguments: { value: 4 } })).content, 'correct');
		assert.deepEqual(await link.reward({ instance: 0 }), { value: 1 });
	});
});

describe('a recipe with an environment', () => {
	const faults = (changes: object) => {
		const parsed = parseRecipe(JSON.stringify(recipe(changes)));
		return parsed.ok ? [] : parsed.faults.map(({ message }) => message);
	};
	const cases: readonly [string, object, RegExp][] = [
		['with a chat template on the embedded engine', { engine: 'embedded' }, /"chat" needs a chat template/],
		['in a file that is not an environment', { environment: { file: 'x.py' } }, /"x\.py" is not an environment file/],
		['without a chat template', { template: 'plain' }, /Tool calls require a chat template/],
		[
			'in processes that share the model',
			{ pytorch: { processes: 2, strategy: 'fsdp' } },
			/different numbers of turns/,
		],
		[
			'in processes that share vLLM',
			{ pytorch: { processes: 2, vllm: { tensorParallel: 2 } } },
			/different numbers of turns/,
		],
		[
			'with a vLLM server',
			{ pytorch: { vllm: { mode: 'server', server: 'http://localhost:8000' } } },
			/one prompt per group/,
		],
		['in an rloo stage', { stages: [{ type: 'rloo', steps: 2, learning_rate: 1e-3 }] }, /Only grpo stages/],
		['reward but no environment', { environment: undefined }, /The reward "environment" requires an "environment"/],
	];
	for (const changes of [{}, { pytorch: { processes: 2 } }, { engine: 'ray', ray: { workers: 2 } }]) {
		it(`is valid with ${JSON.stringify(changes)}`, () => assert.deepEqual(faults(changes), []));
	}
	for (const [what, changes, message] of cases) {
		it(`${what} is rejected`, () => {
			assert.ok(
				faults(changes).some((fault) => message.test(fault)),
				JSON.stringify(faults(changes)),
			);
		});
	}
});
