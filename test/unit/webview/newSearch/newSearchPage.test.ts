import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type NewSearchEvent,
	newSearchEventSchema,
	newSearchRequests,
	type PolicyFacts,
	type SearchDraft,
} from '../../../../src/protocol/newSearchMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { patience, soon } from '../lateness.ts';
import { looksRight } from '../webviewLooks.ts';
import { openWebview } from '../webviewPage.ts';

const hostile = '<img src=x onerror=alert(1)>';
const checkpoint = { kind: 'checkpoint', folder: '/w/runs/sums/checkpoints/step_000040' } as const;
const server = {
	...({ kind: 'openai', name: hostile, baseUrl: 'http://127.0.0.1:1/v1', model: 'm', api: 'chat' } as const),
	price: { input: 1, output: 20_000, currency: 'USD' },
};
const majority = { label: 'Majority', detail: 'fraction of answers that agree', spec: { use: 'majority' as const } };
const probability = { label: 'Mean log-probability', detail: hostile, spec: { use: 'mean-logprob' as const } };
const oracle = {
	label: 'accuracy',
	detail: 'oracle',
	spec: { use: 'reward' as const, reward: 'accuracy', gold: true },
};

const facts: PolicyFacts = {
	environment: null,
	problems: ['12+34=', '5+6='].map((prompt, i) => ({ prompt, answer: ['46', '11'][i] as string, row: {} })),
	source: 'held-out',
	sample: { completions: 64, step: 40, tokens: 26, split: { split: 'tokens-4', steps: 7 } },
};

const trained = {
	label: 'guess.env.py',
	description: 'of run',
	spec: { file: '/w/runs/guess/rewards/guess.env.py', maxTurns: 4, turnSeconds: 10 },
};
const found = {
	label: hostile,
	description: 'verifiers',
	spec: { package: '/w/own', maxTurns: 20, turnSeconds: 10 },
};
const limits = { maxTurns: 20, turnSeconds: 10 };
const played = { kind: 'checkpoint', folder: '/w/runs/guess/checkpoints/step_000600' } as const;
const rowsOf = (count: number) => ({
	source: 'Held-out problems of guess',
	rows: Array.from({ length: count }, (_, i) => {
		const row = { prompt: `Guess ${i}: ${hostile}`, number: i, calls: [{ name: 'guess', arguments: { number: i } }] };
		return { label: JSON.stringify(row), problem: { prompt: row.prompt, answer: null, row } };
	}),
});

const contents = (draft: SearchDraft | null, policies = true): NewSearchEvent => ({
	...{ type: 'snapshot', forbidden: null, budget: { tokens: 20_000 }, draft, environments: [found] },
	policies: policies
		? [
				{ group: 'Runs', label: 'sums, step 40', detail: 'accuracy 66.0%, best', spec: checkpoint },
				{ group: 'Servers', label: hostile, detail: 'm', spec: server },
			]
		: [],
	scorers: [
		{ ...probability, steps: true, oracle: false },
		{ ...majority, steps: false, oracle: false },
		{ ...oracle, steps: false, oracle: true },
	],
});

test('the form has a default for everything, explains each default, and starts the search', {
	skip,
	timeout: patience(120_000),
}, async (t) => {
	const browser = await launchChromium();
	const started: { draft: SearchDraft; split?: unknown }[] = [];
	const events: string[] = [];
	let answered = 0;
	let failing = true;
	const view = await openWebview(browser, {
		...{ app: 'newSearch', width: 900, height: 900 },
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind === 'event') {
				events.push((decoded.event as { type: string }).type);
				return;
			}
			const { id, method, params } = decoded;
			const answer = (result: unknown) => void view.post({ kind: 'response', id, ok: true, result });
			if (method === 'facts') {
				const { policy } = decodeOrThrow(newSearchRequests.facts.params, params, 'The request');
				if (policy.kind === 'checkpoint' && policy.folder === played.folder) answer({ ...facts, environment: trained });
				else
					answer(
						policy.kind === 'checkpoint' ? facts : { environment: null, problems: [], source: null, sample: null },
					);
			} else if (method === 'rows') {
				const { environment } = decodeOrThrow(newSearchRequests.rows.params, params, 'The request');
				const error = { reason: 'invalid', message: 'The package cannot be loaded.', action: 'Install it.' };
				if (environment.file !== undefined) answer(rowsOf(3));
				else void view.post({ kind: 'response', id, ok: false, error });
			} else if (method === 'chooseServer') {
				answer({ ...limits, server: 'http://localhost:1' });
			} else if (method === 'chooseProblem') answer({ prompt: hostile, answer: null, row: { a: 1 } });
			else if (method === 'start') {
				started.push(decodeOrThrow(newSearchRequests.start.params, params, 'The request'));
				const error = { reason: 'missing', message: 'The checkpoint is gone.', action: 'Choose another.' };
				const response = failing ? { ok: false, error } : { ok: true, result: null };
				void view.post({ kind: 'response', id, ...response }).then(() => answered++);
			}
		},
	});
	t.after(async () => {
		await view.close();
		await browser.close();
	});
	const { page } = view;
	const send = (event: NewSearchEvent) =>
		view.post({ kind: 'event', event: decodeOrThrow(newSearchEventSchema, event, 'An event') });
	const summary = page.locator('.form-head [role=status]');
	const start = page.getByRole('button', { name: 'Start' });
	/**
	 * Waits until the page refuses to start a search and shows the reason. The button in the control is disabled last.
	 */
	const refused = async (why: string) => {
		await summary.filter({ hasText: why }).waitFor();
		await page.locator('vscode-button[aria-label=Start] button[disabled]').waitFor();
	};
	const last = () => started.at(-1);
	/** Starts a search and waits until the page has the response. */
	const begin = async (how: () => Promise<void>) => {
		const before = answered;
		await how();
		await soon(() => assert.ok(answered > before, 'Nothing was started'));
	};
	await page.getByText('Loading').waitFor();

	await t.test('a first search needs one click, and a failed start is reported', async () => {
		await send(contents({ policy: checkpoint }));
		await summary.filter({ hasText: 'About 420 tokens' }).waitFor();
		assert.match(
			await summary.innerText(),
			/based on the average length of 64 completions at step 40; at most 20,000 tokens/,
		);
		await page.getByText("Held-out problem 1 of 2 from the policy's run").waitFor();
		await begin(() => start.click());
		await page.getByRole('alert').filter({ hasText: 'The checkpoint is gone. Choose another.' }).waitFor();
		assert.deepEqual(last()?.draft.problem, facts.problems[0]);
		assert.deepEqual([last()?.draft.strategy, last()?.draft.guide], ['self-consistency', null]);
		await looksRight(view, 'new-search', [320]);
	});

	await t.test('the default steps fit the completions, and the default scorer fits the strategy', async () => {
		failing = false;
		await page.getByText('Monte Carlo Tree Search').click();
		await page.getByText('About 7 steps in each of 64 completions at step 40').waitFor();
		await begin(() => start.click());
		assert.deepEqual(
			[last()?.split, last()?.draft.split],
			['tokens-4', undefined],
			'the automatic choice is not stored in the draft',
		);
		assert.deepEqual(last()?.draft.guide, { use: 'majority' });
		assert.deepEqual(await page.getByLabel('Scorer').locator('option').allInnerTexts(), [
			'Mean log-probability',
			'Majority',
			'accuracy',
		]);
		await page.getByText('Beam Search').click();
		await page.getByLabel('Scorer').locator('option', { hasText: 'Majority' }).waitFor({ state: 'detached' });
		assert.deepEqual(await page.getByLabel('Scorer').locator('option').allInnerTexts(), ['Mean log-probability']);
		await page.getByLabel('Steps', { exact: true }).selectOption('separator');
		await refused('Enter the text that ends a step.');
		await page.getByLabel('Text that ends a step').fill('<end>');
		await begin(() => start.click());
		assert.deepEqual(last()?.split, { text: '<end>' });
	});

	await t.test('settings are checked as they are typed; an empty one means the default', async () => {
		await page.getByText('Parameters and Sampling').click();
		const width = page.getByLabel('width', { exact: true });
		await width.fill('many');
		await refused('Invalid parameters for beam: width');
		await width.fill('');
		await page.getByLabel('temperature', { exact: true }).fill('0.5');
		await page.getByLabel('seed', { exact: true }).fill('7');
		await page.getByLabel('choose', { exact: true }).selectOption('vote');
		await page.getByLabel('Budget', { exact: true }).selectOption('typed');
		await page.getByLabel('Budget limits').fill('soon');
		await refused('Use the format');
		await page.getByLabel('Budget limits').fill('50 nodes, 9 seconds');
		await begin(() => page.keyboard.press('Control+Enter'));
		const { params, sampling, seed, budget } = last()?.draft ?? {};
		assert.deepEqual(
			{ params, sampling, seed, budget },
			{
				params: { choose: 'vote' },
				sampling: { temperature: 0.5 },
				seed: 7,
				budget: { nodes: 50, seconds: 9 },
			},
		);
		await looksRight(view, 'new-search-settings', [320]);
	});

	await t.test('a different problem text has neither the suggested gold answer nor an oracle', async () => {
		await page.getByRole('button', { name: 'Another Problem' }).click();
		const answerIs = (value: string) =>
			page.waitForFunction((text) => document.querySelector<HTMLInputElement>('.answer')?.value === text, value);
		await answerIs('11');
		await page.getByLabel('Problem', { exact: true }).fill('7+8=');
		await answerIs('');
		await page.getByText('Best of N', { exact: true }).click();
		await page.getByLabel('Scorer').locator('option', { hasText: 'Majority' }).waitFor({ state: 'attached' });
		assert.equal(await page.getByLabel('Scorer').locator('option', { hasText: 'accuracy' }).count(), 0);
		await page.getByRole('button', { name: 'Choose from a Dataset' }).click();
		await page.waitForFunction((text) => document.querySelector('textarea')?.value === text, hostile);
	});

	await t.test('another policy has its own cost estimate, and entered values survive a reload', async () => {
		await page.getByLabel('Policy', { exact: true }).selectOption('1');
		await summary.filter({ hasText: 'Uses at most 50 nodes, 9 seconds' }).waitFor();
		const { draft, budget } = (await view.state()) as { draft: SearchDraft; budget: string };
		assert.deepEqual([draft.policy?.kind, draft.problem?.prompt, budget], ['openai', hostile, '50 nodes, 9 seconds']);
		await send(
			contents({
				policy: { kind: 'scripted', file: '/w/pupil.json' },
				problem: { prompt: '1', answer: null, row: {} },
			}),
		);
		await page
			.getByLabel('Policy', { exact: true })
			.locator('option', { hasText: 'w/pupil.json' })
			.waitFor({ state: 'attached' });
	});

	await t.test(
		'a policy trained on episodes plays an episode on a row, with the reward of its environment',
		async () => {
			await send(
				contents({ policy: played, problem: { prompt: '1+1=', answer: '2', row: {} }, guide: { use: 'majority' } }),
			);
			await page.getByText('Held-out problems of guess').waitFor();
			assert.deepEqual(await page.locator('.strategy:visible strong').allInnerTexts(), [
				'Best of N',
				'Self-consistency',
				'Beam Search',
				'Diverse Verifier Tree Search',
				'Monte Carlo Tree Search',
			]);
			assert.deepEqual(await page.getByLabel('Scorer').locator('option').allInnerTexts(), [
				'Environment',
				'Mean log-probability',
				'Majority',
			]);
			assert.equal(await page.getByLabel('Problem', { exact: true }).isVisible(), false);
			assert.equal(await page.getByLabel('Steps', { exact: true }).isVisible(), false);
			await looksRight(view, 'new-search-episodes', [320]);
			await page.getByLabel('Row', { exact: true }).selectOption('2');
			await page.locator('.columns').filter({ hasText: '"number":2' }).waitFor();
			const turns = page.getByLabel('Max turns');
			assert.equal(await turns.inputValue(), '4');
			await turns.fill('many');
			await refused('Enter a number of turns');
			await turns.fill('7');
			await begin(() => start.click());
			const { environment, problem, strategy, guide, split } = last()?.draft ?? {};
			assert.deepEqual(
				[environment, strategy, guide, split],
				[{ ...trained.spec, maxTurns: 7 }, 'best-of-n', { use: 'environment' }, undefined],
			);
			assert.deepEqual(problem?.row, rowsOf(3).rows[2]?.problem.row);
		},
	);

	const choice = page.getByLabel('Environment', { exact: true });
	await t.test('the user can select an environment whose rows cannot be read, or no environment', async () => {
		assert.deepEqual(await choice.locator('option').allInnerTexts(), [
			'None: one completion per problem',
			'guess.env.py (of run)',
			`${hostile} (verifiers)`,
			'OpenEnv server…',
		]);
		await choice.selectOption({ index: 2 });
		await page.getByText('The package cannot be loaded. Install it.').waitFor();
		await refused('Select a row.');
		await page.getByRole('button', { name: 'Choose from a Dataset' }).click();
		await page.locator('.columns').filter({ hasText: '{"a":1}' }).waitFor();
		await begin(() => start.click());
		assert.deepEqual([last()?.draft.environment, last()?.draft.problem?.row], [found.spec, { a: 1 }]);
		await choice.selectOption('server');
		await choice.locator('option:checked', { hasText: 'http://localhost:1' }).waitFor({ state: 'attached' });
		assert.equal(await page.locator('.columns').textContent(), '');
		await choice.selectOption('none');
		await page.getByText("Held-out problem 1 of 2 from the policy's run").waitFor();
		await begin(() => start.click());
		assert.deepEqual([last()?.draft.environment, last()?.draft.problem?.prompt], [null, '12+34=']);
	});

	await t.test('after a reload, the rows of a package are only read on request', async () => {
		await choice.selectOption({ index: 2 });
		await page.getByText('The package cannot be loaded. Install it.').waitFor();
		const state = await view.state();
		const asked: string[] = [];
		const restored = await openWebview(browser, {
			...{ app: 'newSearch', state },
			onMessage: (message) => {
				const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
				if (decoded.kind !== 'request') return;
				const { id, method } = decoded;
				asked.push(method);
				const result = method === 'rows' ? rowsOf(2) : { ...facts, environment: trained };
				void restored.post({ kind: 'response', id, ok: true, result });
			},
		});
		await restored.post({ kind: 'event', event: contents(null) });
		await restored.page.getByText('Loading rows starts the environment.').waitFor();
		assert.deepEqual(asked, ['facts']);
		await restored.page.getByRole('button', { name: 'Load Rows' }).click();
		await restored.page.getByText('Held-out problems of guess').waitFor();
		assert.deepEqual([asked, restored.errors], [['facts', 'rows'], []]);
		await restored.close();
	});

	await t.test('without a policy, the page explains what to do', async () => {
		await send(contents({}, false));
		await page.getByRole('button', { name: 'Start Demo Run' }).click();
		await page.getByText('No policy yet').waitFor();
		await looksRight(view, 'new-search-empty', [320]);
		await soon(() => assert.ok(events.includes('runDemo')));
		await send({ ...contents({}), forbidden: 'Searches are disabled because this workspace is not trusted.' });
		await summary.filter({ hasText: 'not trusted' }).waitFor();
	});
	assert.deepEqual(view.errors, []);
});
