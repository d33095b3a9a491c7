import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { RewardCoverage } from '../../../src/extension/rewardTests/rewardCoverage.ts';
import type { RewardTests } from '../../../src/extension/rewardTests/rewardTests.ts';
import { TestRunner } from '../../../src/extension/rewardTests/testRun.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, workspaceFolder } from '../support/laboratory.ts';

const typescript = `// @dataset totals.jsonl
export const total = ({ completion, answer }: { completion: string; answer: string }) => {
	const found = completion.includes(String(answer));
	if (completion.startsWith('never')) {
		throw new Error('unreachable');
	}
	return found ? 1 : 0;
};
`;
const cases = [
	'{"prompt": "1+1=", "completion": "<answer>2</answer>", "answer": "2", "expect": 1, "name": "right"}',
	'// a comment',
	'{"prompt": "1+1=", "completion": "<answer>2</answer>", "answer": "2", "expect": 0, "name": "wrong label"}',
];

/** Results of a test run, keyed by the last part of the test id. */
class Verdicts {
	readonly shown = new Map<string, string>();
	readonly coverage: vscode.FileCoverage[] = [];
	readonly run: vscode.TestRun;

	constructor() {
		const reply = (verdict: string) => (item: vscode.TestItem, message?: unknown) => {
			const text = message instanceof vscode.TestMessage ? `: ${message.message}` : '';
			this.shown.set(item.id.split('#').slice(-1)[0] as string, `${verdict}${text}`);
		};
		this.run = {
			name: undefined,
			isPersisted: false,
			token: new vscode.CancellationTokenSource().token,
			onDidDispose: () => new vscode.Disposable(() => {}),
			enqueued: () => {},
			started: () => {},
			appendOutput: () => {},
			end: () => {},
			addCoverage: (coverage) => this.coverage.push(coverage),
			passed: reply('passed'),
			failed: reply('failed'),
			errored: reply('errored'),
			skipped: reply('skipped'),
		};
	}
}

suite('rewards in the Test Explorer', () => {
	let api: ExtensionApi;
	let rewardTests: RewardTests;
	let file: string;

	suiteSetup(async () => {
		api = await activated();
		rewardTests = (await api.background.get()).rewardTests;
		const folder = join(workspaceFolder(), 'totals');
		await mkdir(folder, { recursive: true });
		const rows = Array.from({ length: 30 }, (_, i) => JSON.stringify({ prompt: `${i}+${i}=`, answer: String(2 * i) }));
		await writeFile(join(folder, 'totals.jsonl'), rows.join('\n'));
		await writeFile(join(folder, 'total.cases.jsonl'), cases.join('\n'));
		file = join(folder, 'total.reward.ts');
		await writeFile(file, typescript);
	});

	async function fileItem(): Promise<vscode.TestItem> {
		await rewardTests.controller.refreshHandler?.(new vscode.CancellationTokenSource().token);
		const item = rewardTests.controller.items.get(file);
		assert.ok(item, 'a refresh lists the file, whether or not its event has arrived');
		await rewardTests.items.resolve(item);
		return item;
	}

	async function runner(): Promise<TestRunner> {
		const workbench = await api.rewards.get();
		const { verifications, debugging } = workbench;
		return new TestRunner({ items: rewardTests.items, verifications, debugging });
	}

	const token = new vscode.CancellationTokenSource().token;

	test('a file contains its rewards, and rewards contain their cases and audit probes', async () => {
		const item = await fileItem();
		assert.equal(item.error, undefined);
		const reward = item.children.get(`${file}#total`);
		assert.ok(reward);
		assert.equal(reward.range?.start.line, 1);
		const labels = [...reward.children].map(([, child]) => child.label);
		assert.deepEqual(labels.sort(), ['Audit: reward without a correct answer', 'right', 'wrong label']);
		assert.equal(reward.children.get(`${file}#total#case#3`)?.range?.start.line, 2);
		assert.ok((reward.children.get(`${file}#total#audit`)?.children.size ?? 0) >= 30);
	});

	test('cases and probes get results with line coverage', async () => {
		const item = await fileItem();
		const reward = item.children.get(`${file}#total`) as vscode.TestItem;
		const audit = reward.children.get(`${file}#total#audit`) as vscode.TestItem;
		const probes = ['every-candidate', 'empty'].map((id) => audit.children.get(`${file}#total#probe#${id}`));
		const chosen = [...[...reward.children].map(([, child]) => child).filter((child) => child !== audit), ...probes];
		const verdicts = new Verdicts();
		await (await runner()).run(
			verdicts.run,
			chosen.filter((one) => one !== undefined),
			token,
			{ coverage: true },
		);
		assert.equal(verdicts.shown.get('1'), 'passed');
		assert.match(verdicts.shown.get('3') ?? '', /^failed: Expected 0, but the reward is 1/);
		assert.match(verdicts.shown.get('every-candidate') ?? '', /^failed: /);
		assert.equal(verdicts.shown.get('empty'), 'passed');
		const [coverage] = verdicts.coverage;
		assert.ok(coverage instanceof RewardCoverage);
		const missed = coverage.details.filter(({ executed }) => executed === false);
		assert.deepEqual(
			missed.map(({ location }) => (location as vscode.Position).line),
			[4],
		);
	});

	test('a file that fails to load is an error in each of its tests, at the failing line', async () => {
		const item = await fileItem();
		const reward = item.children.get(`${file}#total`) as vscode.TestItem;
		const test = reward.children.get(`${file}#total#case#1`) as vscode.TestItem;
		await writeFile(file, `${typescript}\nexport const = 3;\n`);
		try {
			const verdicts = new Verdicts();
			await (await runner()).run(verdicts.run, [test], token);
			assert.match(verdicts.shown.get('1') ?? '', /^errored: .*total\.reward\.ts/);
		} finally {
			await writeFile(file, typescript);
		}
	});

	test('a case is debugged with its row: the debugger stops in the reward and the test ends with its result', async () => {
		const item = await fileItem();
		const test = item.children.get(`${file}#total`)?.children.get(`${file}#total#case#1`) as vscode.TestItem;
		const stops: { path: string; line: number }[] = [];
		const tracker = vscode.debug.registerDebugAdapterTrackerFactory('*', {
			createDebugAdapterTracker: (session) => ({
				onDidSendMessage: async (message: {
					type: string;
					event?: string;
					body?: { threadId: number; reason: string };
				}) => {
					if (message.type !== 'event' || message.event !== 'stopped' || message.body === undefined) return;
					const { threadId } = message.body;
					const { stackFrames } = await session.customRequest('stackTrace', { threadId });
					stops.push({ path: stackFrames[0]?.source?.path, line: stackFrames[0]?.line });
					await session.customRequest('continue', { threadId });
				},
			}),
		});
		try {
			const verdicts = new Verdicts();
			await (await runner()).debug(verdicts.run, [test], token);
			assert.equal(verdicts.shown.get('1'), 'passed');
			assert.deepEqual(
				stops.map(({ path, line }) => ({ file: path.endsWith(file), line })),
				[{ file: true, line: 3 }],
			);
			assert.equal(vscode.debug.breakpoints.length, 0, 'the temporary breakpoint is removed');
		} finally {
			tracker.dispose();
		}
	}).timeout(240_000);
});
