import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { PolicySpec } from '../../../../src/protocol/policySpec.ts';
import { viewOf } from '../fixtureRun.ts';
import { type Asked, replies } from '../vscodeStandIn.ts';

const { askPolicy, runPolicies } = await import('../../../../src/extension/search/policyQuestion.ts');

const root = await mkdtemp(join(tmpdir(), 'policy-question-'));
after(() => rm(root, { recursive: true, force: true }));

async function checkpoint(run: string, step: number, stage: string | null, score: number | null): Promise<string> {
	const folder = join(run, 'checkpoints', `step_${String(step).padStart(6, '0')}`);
	await mkdir(folder, { recursive: true });
	await writeFile(join(folder, 'model.safetensors'), 'weights');
	const files = [{ name: 'model.safetensors', bytes: 7 }];
	await writeFile(
		join(folder, 'checkpoint.json'),
		JSON.stringify({ format: 1, step, stage, score, time: step, files }),
	);
	return folder;
}

test('a run offers its current weights and its checkpoints, newest first, with their details', async () => {
	const ended = join(root, 'adder');
	const first = await checkpoint(ended, 5, 'sft', null);
	const best = await checkpoint(ended, 10, 'grpo', 0.75);
	await checkpoint(ended, 15, null, 0.5);
	const live = join(root, 'live');
	const runs = [
		{ ...viewOf(live, 'running', 3), folder: live },
		{ ...viewOf(ended, 'finished', 15), folder: ended },
	];
	const server = { label: 'a server', value: { kind: 'scripted', file: '/s.json' } satisfies PolicySpec };
	const asked: Asked[] = [];
	replies.push((one) => {
		asked.push(one);
		return { pick: /step 5$/ };
	});
	const answer = await askPolicy(
		{ title: 'The policy', step: 2, steps: 6 },
		{ own: runs, runs } as never,
		async () => ({ serverChoices: () => [server] }) as never,
		{ kind: 'checkpoint', folder: best },
	);
	assert.deepEqual(answer, { value: { kind: 'checkpoint', folder: first } });
	const [name, other] = [live, ended].map((folder) => folder.slice(1));
	assert.deepEqual(
		asked[0]?.items.map(({ label, description }) => [label, description]),
		[
			['a server', undefined],
			[`$(pulse) ${name}`, 'current weights'],
			[`$(save) ${other}, step 15`, 'accuracy 50.0%'],
			[`$(save) ${other}, step 10`, 'grpo, accuracy 75.0%, best'],
			[`$(save) ${other}, step 5`, 'sft'],
			['$(add) Add a server...', 'any OpenAI-compatible server'],
			['$(file-code) A script...', 'replays canned completions'],
		],
	);
	assert.equal(asked[0]?.proposed, `$(save) ${other}, step 10`, 'the policy used last is suggested');
});

test('policies of runs that share a name are listed with project and time', async () => {
	const [mine, theirs] = ['mine', 'theirs'].map((project) => {
		const folder = join(root, project, 'runs', 'adder');
		const view = viewOf('/adder', 'finished', 5);
		return { ...view, folder };
	});
	assert.ok(mine && theirs);
	await checkpoint(mine.folder, 5, 'grpo', null);
	const labels = async (runs: object[]) =>
		(await runPolicies({ own: [mine], runs } as never)).map(({ label }) => label);
	assert.deepEqual(await labels([mine]), ['adder, step 5']);
	const [label] = await labels([mine, theirs]);
	assert.match(label ?? '', /^adder \(mine\) .*\d.*, step 5$/);
});
