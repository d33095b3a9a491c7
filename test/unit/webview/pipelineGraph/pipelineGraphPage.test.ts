import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type GraphStage,
	type PipelineGraphCommand,
	type PipelineGraphEvent,
	pipelineGraphCommandSchema,
	pipelineGraphEventSchema,
} from '../../../../src/protocol/pipelineGraphMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { looksRight } from '../webviewLooks.ts';
import { openWebview } from '../webviewPage.ts';

const hostile = '<img src=x onerror=alert(1)>';

const stage = (name: string, after: string[], changes: Partial<GraphStage> = {}): GraphStage => ({
	...{ name, type: 'grpo', status: 'finished', round: null, after, done: 100, total: 100 },
	...{ accuracy: 0.5, seconds: 75, device: null, tokens: null, costs: [], why: null, opens: true, ...changes },
});

test('the graph shows each stage with its state, accuracy, gain and time, and opens it', {
	skip,
	timeout: 120_000,
}, async (t) => {
	const browser = await launchChromium();
	const commands: PipelineGraphCommand[] = [];
	const view = await openWebview(browser, {
		...{ app: 'pipelineGraph', width: 1000, height: 500 },
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind !== 'event') return;
			const command = decodeOrThrow(pipelineGraphCommandSchema, decoded.event, 'A command from the webview');
			if (command.type !== 'ready') commands.push(command);
		},
	});
	t.after(async () => {
		await view.close();
		await browser.close();
	});
	const { page } = view;
	const say = (event: PipelineGraphEvent) =>
		view.post({ kind: 'event', event: decodeOrThrow(pipelineGraphEventSchema, event, 'An event') });
	await page.getByText('Loading pipeline').waitFor();
	const paid = { tokens: 800, costs: [{ amount: 0.01234, currency: hostile }] };
	const round = (number: number) => ({ round: { of: 'train', number } });
	const pipeline = (status: 'running' | 'failed') =>
		say({
			...{ type: 'pipeline', folder: '/w/runs/p', name: hostile, status },
			stages: [
				stage('cold', [], { type: 'sft', accuracy: 0.25 }),
				stage('rl', ['cold'], { status: 'running', done: 40, accuracy: 0.4, tokens: 12_345 }),
				stage('train-1', ['cold'], { ...round(1), accuracy: 0.2 }),
				stage('train-2', ['train-1'], { ...round(2), status: 'waiting', opens: false, accuracy: null, seconds: null }),
				stage('measure', ['rl'], {
					type: 'evaluate',
					status: 'failed',
					why: hostile,
					opens: false,
					accuracy: null,
					...paid,
				}),
			],
		});
	await pipeline('running');
	const node = (name: string) => page.locator('.stage', { hasText: name }).first();
	await node('rl').waitFor();
	assert.match(
		(await node('rl').innerText()).replace(/\s+/g, ' '),
		/rl grpo · 40 \/ 100 40\.0% \+15\.0 points 1 min 15 s · 12,345 tokens/,
	);
	assert.match(
		(await node('train').innerText()).replace(/\s+/g, ' '),
		/train grpo · 1 of 2 rounds · waiting 20\.0% −5\.0 points 1 min 15 s$/,
		'unknown tokens are not shown',
	);
	assert.match(await node('measure').innerText(), /1 min 15 s · 800 tokens · 0\.0123 <img/);
	assert.equal(await page.locator('.graph > svg path').count(), 3);
	await looksRight(view, 'pipeline-graph', [320]);
	await page.getByLabel('Collapse rounds').uncheck();
	await node('train-2').waitFor();
	await node('measure').click({ force: true });
	await node('train-1').click();
	await page.getByRole('button', { name: 'Stop' }).click();
	while (commands.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.deepEqual(commands, [
		{ type: 'open', stage: 'train-1' },
		{ type: 'act', action: 'stop' },
	]);
	await pipeline('failed');
	await page.getByRole('button', { name: 'Resume' }).waitFor();
	await say({ type: 'missing', folder: '/w/runs/p' });
	await page.getByText('This folder no longer contains a pipeline.').waitFor();
	assert.deepEqual(view.errors, []);
});
