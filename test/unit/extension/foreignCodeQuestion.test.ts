import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { access, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { openRewardHosts } from '../../../src/rewards/openRewardHosts.ts';
import { markStarted } from '../../../src/runs/foreignCode.ts';
import { prepareRun } from '../../../src/runs/prepareRun.ts';
import { shown, window } from './vscodeStandIn.ts';

const { agreeForeignCode, agreeServer } = await import('../../../src/extension/foreignCodeQuestion.ts');
const { AnswerChecker } = await import('../../../src/extension/panels/playground/answerChecker.ts');

let place = '';
beforeEach(async () => {
	place = await mkdtemp(join(tmpdir(), 'rl-foreign-host-'));
	process.env.REASONING_LAB_HOME = join(place, 'home');
});

test('the dialog lists what would be used, and only its button confirms', async () => {
	const uses = ['rewards/a.reward.ts', 'http://s\u202e/v1', ...Array.from({ length: 9 }, (_, n) => `f${n}`)];
	assert.equal(await agreeForeignCode({ folder: '/x/[run](command:a)', uses }), false, 'closed');
	const question = shown.at(-1);
	assert.ok(question);
	assert.match(question.text, /You did not start .* on this machine, or its recipe has changed since/);
	const { modal, detail } = question.items[0] as unknown as { modal: boolean; detail: string };
	assert.equal(modal, true);
	assert.match(detail, /^This uses rewards\/a\.reward\.ts, http:\/\/s.*, f5, 3 more\.$/);
	assert.ok(!detail.includes('\u202e'));
	const before = window.showWarningMessage;
	Object.assign(window, { showWarningMessage: async (_: string, __: object, button: object) => button });
	assert.equal(await agreeForeignCode({ folder: '/x/run', uses }), true);
	Object.assign(window, { showWarningMessage: before });
});

test('an environment server on another machine is used only if the user agrees', async () => {
	const before = shown.length;
	assert.equal(await agreeServer(undefined), true);
	assert.equal(await agreeServer('http://localhost:8000'), true);
	assert.equal(shown.length, before);
	assert.equal(await agreeServer('http://h\u202e.example:8000'), false);
	assert.match(shown.at(-1)?.text ?? '', /^Use the environment server http:\/\/h[^\u202e]*\?$/);
});

test('the playground explains that it does not run the reward files of an external run', async (t) => {
	const file = join(place, 'brief.reward.ts');
	const ran = join(place, 'ran');
	await writeFile(
		file,
		`import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\nexport const brief = () => 1;\n`,
	);
	const recipe = {
		name: 'small',
		dataset: { task: 'addition', digits: 1 },
		model: { layers: 1, width: 16, heads: 2 },
		rewards: [{ use: 'format' }, { file: 'brief.reward.ts' }],
		stages: [{ type: 'grpo', steps: 4, learning_rate: 0.001, prompts_per_step: 4, num_generations: 4 }],
	};
	await writeFile(join(place, 'small.recipe.json'), JSON.stringify(recipe));
	const { folder } = await prepareRun(join(place, 'small.recipe.json'));
	const check = async () => {
		const checker = new AnswerChecker({ hosts: () => openRewardHosts({ python: false }) });
		t.after(() => checker.dispose());
		const side = { prompt: '1+2=', tags: null, policy: { kind: 'checkpoint', folder: join(folder, 'checkpoints/a') } };
		const samples = [{ text: '3', finish: 'end' }];
		const [checked] = await checker.check({ side, expected: '3', samples } as never, AbortSignal.timeout(60_000));
		return checked?.rewards.map(({ name, value, error }) => [name, value === null ? error : 'scored']);
	};
	const left = 'Not run: you did not start this run on this machine.';
	assert.deepEqual(await check(), [
		['accuracy', 'scored'],
		['format', 'scored'],
		['rewards/brief.reward.ts', left],
	]);
	await assert.rejects(access(ran));
	await markStarted(folder);
	assert.deepEqual((await check())?.at(-1), ['brief', 'scored']);
	await access(ran);
});
