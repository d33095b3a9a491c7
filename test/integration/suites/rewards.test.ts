import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { commandIds } from '../../../src/extension/ids.ts';
import type { FileVerification } from '../../../src/extension/rewards/fileVerification.ts';
import type { RewardSession } from '../../../src/extension/rewards/rewardSession.ts';
import { inlineLine } from '../../../src/extension/rewards/rewardWords.ts';
import { unreachedLines } from '../../../src/extension/rewards/unreachedLines.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, codeLenses, until, workspaceFolder } from '../support/laboratory.ts';

const recipe = `{
	"format": 1,
	"name": "sums",
	"dataset": { "path": "sums.jsonl" },
	"model": { "layers": 1, "width": 32, "heads": 4 },
	// What is paid.
	"rewards": [{ "use": "accuracy" }],
	"stages": [{ "type": "sft", "steps": 5, "learning_rate": 0.001 }]
}
`;
const rows = Array.from({ length: 60 }, (_, i) =>
	JSON.stringify({ prompt: `${i}+1=`, answer: String(i + 1), solution: `${i}+1=${i + 1}` }),
);

const typescript = `// @dataset sums.jsonl
import { worth } from './worth.ts';

export const right = ({ trace, answer }: { trace: { answer: string | null }; answer: string }) => {
	if (trace.answer === null) {
		return 0;
	}
	return trace.answer === answer ? worth : 0;
};
`;
const python = `# @dataset sums.jsonl
import re


def right(prompts, completions, answer, **kwargs):
    return [1.0 if f"<answer>{gold}</answer>" in text else 0.0 for text, gold in zip(completions, answer)]


def halves(completions, **kwargs) -> list[float]:
    return [0.5 for _ in completions]
`;

suite('rewards in the editor', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		folder = join(workspaceFolder(), 'sums');
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, 'sums.jsonl'), rows.join('\n'));
		await writeFile(join(folder, 'sums.recipe.json'), recipe);
		await writeFile(join(folder, 'worth.ts'), 'export const worth = 1;\n');
	});

	async function open(name: string, text: string): Promise<vscode.TextDocument> {
		const path = join(folder, name);
		await writeFile(path, text);
		const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path));
		await vscode.window.showTextDocument(document);
		return document;
	}

	async function sessionOf(document: vscode.TextDocument): Promise<RewardSession> {
		return (await api.rewards.get()).verifications.session(document.uri.fsPath);
	}

	async function untilState(
		document: vscode.TextDocument,
		what: string,
		condition: (state: FileVerification) => boolean,
	): Promise<FileVerification> {
		const session = await sessionOf(document);
		return until(`${what} (now ${session.state.phase}, ${session.state.failure})`, () => {
			return condition(session.state) && session.state;
		});
	}

	function faults(uri: vscode.Uri): vscode.Diagnostic[] {
		return vscode.languages.getDiagnostics(uri).filter((diagnostic) => diagnostic.source === 'Reasoning Lab');
	}

	async function replace(document: vscode.TextDocument, from: string, to: string): Promise<void> {
		const at = document.getText().indexOf(from);
		assert.ok(at >= 0, from);
		const edit = new vscode.WorkspaceEdit();
		const range = new vscode.Range(document.positionAt(at), document.positionAt(at + from.length));
		edit.replace(document.uri, range, to);
		assert.ok(await vscode.workspace.applyEdit(edit));
	}

	test('a TypeScript reward is verified when shown, and again when it or one of its imports is saved', async function () {
		this.timeout(240_000);
		const document = await open('right.reward.ts', typescript);
		const state = await untilState(document, 'the file is verified', ({ phase }) => phase === 'done');
		assert.deepEqual(
			state.rewards.map(({ name }) => name),
			['right'],
		);
		const first = state.results.get('right')?.data?.statistics;
		assert.equal(first?.rows, 200);
		assert.equal(first?.mean, 0.2);
		assert.deepEqual(first?.agreement, { problems: 40, agreed: 40 });
		assert.equal(first?.errors, 0);
		assert.equal(inlineLine(state, 'right')?.tone, 'good');
		assert.match(inlineLine(state, 'right')?.text ?? '', /^0\.20 ± 0\.40 · gold 100%/);
		assert.deepEqual(faults(document.uri), []);

		await replace(document, '? worth : 0', '? 2 * worth : 1');
		await untilState(
			document,
			'the result is marked as outdated',
			(now) => now.stale && /before the last edit$/.test(inlineLine(now, 'right')?.text ?? ''),
		);
		await document.save();
		await untilState(
			document,
			'the edit is verified',
			(now) => now.results.get('right')?.data?.statistics.mean === 1.2,
		);

		// Written outside the editor.
		await writeFile(join(folder, 'worth.ts'), 'export const worth = 3;\n');
		await untilState(
			document,
			'the edited import is verified',
			(now) => now.results.get('right')?.data?.statistics.mean === 2,
		);
	});

	test('a file that changes during the first verification is not missed', async function () {
		this.timeout(240_000);
		await writeFile(join(folder, 'price.ts'), 'export const price = 1;\n');
		const slow = `// @dataset sums.jsonl
import { price } from './price.ts';

const clock = new Int32Array(new SharedArrayBuffer(4));

export const slow = () => {
	Atomics.wait(clock, 0, 0, 5);
	return price;
};
`;
		const document = await open('slow.reward.ts', slow);
		await untilState(document, 'the rewards are scored', ({ phase }) => phase === 'running');
		await writeFile(join(folder, 'price.ts'), 'export const price = 3;\n');
		await untilState(
			document,
			'the change is verified',
			(now) => now.phase === 'done' && now.results.get('slow')?.data?.statistics.mean === 3,
		);
	});

	test('a Python file with two rewards is verified', async function () {
		this.timeout(240_000);
		const document = await open('right.reward.py', python);
		const state = await untilState(document, 'the file is verified', ({ phase }) => phase === 'done');
		assert.deepEqual(
			state.rewards.map(({ name }) => name),
			['right', 'halves'],
		);
		assert.equal(state.results.get('right')?.data?.statistics.mean, 0.2);
		const halves = state.results.get('halves')?.data?.statistics;
		assert.equal(halves?.mean, 0.5);
		assert.equal(halves?.deadGroups, 40);
		assert.equal(inlineLine(state, 'halves')?.tone, 'warning');
	});

	test('a throwing line is marked with its row until it is fixed', async function () {
		this.timeout(240_000);
		const document = await open('throws.reward.py', python);
		await untilState(document, 'the file is verified', ({ phase }) => phase === 'done');
		await replace(document, '    return [1.0 if', '    broken = 1 / len(completions[0:0])\n    return [1.0 if');
		await document.save();
		const [fault] = await until('the diagnostic', () => faults(document.uri).length > 0 && faults(document.uri));
		assert.match(fault?.message ?? '', /division by zero/);
		assert.match(fault?.message ?? '', /\(right on row \d+, correct answer, and 199 more rows\)/);
		assert.equal(document.getText(fault?.range), 'broken = 1 / len(completions[0:0])');
		assert.match(inlineLine((await sessionOf(document)).state, 'right')?.text ?? '', /200 errors/);

		await replace(document, 'broken = 1 / len(completions[0:0])', 'broken = (');
		await document.save();
		const failed = await untilState(document, 'the file cannot be loaded', ({ phase }) => phase === 'failed');
		// The failure class comes from another bundle, so the line number is in the message itself.
		assert.match(inlineLine(failed, 'right')?.text ?? '', /^not verified.*\b6: .* before: /);
		const [syntax] = await until('the diagnostic', () => faults(document.uri).length > 0 && faults(document.uri));
		assert.equal(syntax?.range.start.line, 5);

		await replace(document, '    broken = (\n', '');
		await document.save();
		await untilState(document, 'the file is verified', ({ phase }) => phase === 'done');
		await until('no diagnostic', () => faults(document.uri).length === 0);
	});

	test('a failing labeled case is marked in its file, and code lenses, hovers and unreached lines are shown', async function () {
		this.timeout(240_000);
		const right = { completion: '<think>.</think><answer>2</answer>', row: { answer: '2' }, expect: 1 };
		const cases = [right, { ...right, expect: 0 }].map((one) => JSON.stringify(one)).join('\n');
		await writeFile(join(folder, 'cased.cases.jsonl'), cases);
		await writeFile(join(folder, 'worth.ts'), 'export const worth = 1;\n');
		const document = await open('cased.reward.ts', typescript.replace('right =', 'cased ='));
		const state = await untilState(document, 'the file is verified', ({ phase }) => phase === 'done');
		assert.deepEqual(state.results.get('cased')?.data?.statistics.cases, { passed: 1, failed: 1 });
		const uri = vscode.Uri.file(join(folder, 'cased.cases.jsonl'));
		const [fault] = await until('the diagnostic', () => faults(uri).length > 0 && faults(uri));
		assert.equal(fault?.range.start.line, 1);
		assert.match(fault?.message ?? '', /^cased gives 1\.00 here\. Expected: 0\./);

		const lenses = await codeLenses(document.uri);
		const titles = lenses.filter((lens) => lens.range.start.line === 3).map((lens) => lens.command?.title);
		assert.deepEqual(titles, ['Verify', 'On Last Rollouts', 'Debug Row', 'Compare', 'Audit', 'Use in Run', 'Results']);
		const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
			'vscode.executeHoverProvider',
			document.uri,
			new vscode.Position(3, 15),
		);
		const words = hovers
			.flatMap((hover) => hover.contents.map((one) => (typeof one === 'string' ? one : one.value)))
			.join('\n');
		assert.match(words, /Correct scored above incorrect/);
		assert.match(words, /40 of 40 problems/);
		// Every completion has an answer, so the line that returns 0 for a missing answer is never reached.
		assert.deepEqual(unreachedLines(state), [6]);
	});

	test('a built-in and a custom reward are added to a recipe by an undoable edit that keeps comments', async () => {
		const file = vscode.Uri.file(join(folder, 'right.reward.ts'));
		const target = vscode.Uri.file(join(folder, 'sums.recipe.json'));
		await vscode.commands.executeCommand(commandIds.useReward, file, 'right', { recipe: target, weight: 0.3 });
		const text = await readFile(target.fsPath, 'utf8');
		assert.equal(
			text,
			recipe.replace('"accuracy" }]', '"accuracy" }, { "file": "right.reward.ts", "name": "right", "weight": 0.3 }]'),
		);
		const parsed = parseRecipe(text);
		assert.ok(parsed.ok, JSON.stringify(parsed));
		await vscode.commands.executeCommand('undo');
		const document = await vscode.workspace.openTextDocument(target);
		assert.equal(document.getText(), recipe);
		await document.save();
	});

	for (const [language, extension] of [
		['typescript', 'ts'],
		['python', 'py'],
	] as const) {
		test(`a new ${language} reward comes with passing cases`, async function () {
			this.timeout(240_000);
			const answers = { language, name: `made_${extension}`, folder: vscode.Uri.file(folder) };
			const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newReward, answers);
			assert.equal(uri.fsPath, join(folder, `made_${extension}.reward.${extension}`));
			const document = await vscode.workspace.openTextDocument(uri);
			const state = await untilState(document, 'the file is verified', ({ phase }) => phase === 'done');
			const statistics = state.results.get(`made_${extension}`)?.data?.statistics;
			assert.deepEqual(statistics?.cases, { passed: 4, failed: 0 });
			assert.deepEqual(statistics?.agreement, { problems: 40, agreed: 40 });
			assert.deepEqual(faults(uri), []);
			if (language === 'typescript') await readFile(join(folder, 'reasoning-lab.d.ts'));
		});
	}

	test("a Python reward is exported as another trainer's module", async function () {
		this.timeout(240_000);
		const file = vscode.Uri.file(join(folder, 'right.reward.py'));
		const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.exportReward, file, null, 'trl');
		assert.equal(uri.fsPath, join(folder, 'right_trl.py'));
		assert.match(await readFile(uri.fsPath, 'utf8'), /^reward_funcs = /m);
	});

	test('the source of a built-in reward can be opened', async function () {
		this.timeout(240_000);
		await vscode.commands.executeCommand(commandIds.showBuiltInReward, 'length-target');
		const shown = vscode.window.activeTextEditor?.document;
		assert.match(shown?.getText() ?? '', /^\/\/ Length target: /);
		assert.match(shown?.getText() ?? '', /export function lengthTargetReward/);
	});

	test('the Rewards view lists files with their rewards, and built-in rewards', async () => {
		const tree = api.rewardsTree;
		const listed = await tree.getChildren();
		const files = listed.flatMap((item) => (item.kind === 'file' ? [item] : []));
		assert.ok(files.length >= 5, JSON.stringify(listed));
		const two = files.find(({ file }) => file.endsWith('right.reward.py'));
		assert.ok(two);
		const rewards = await tree.getChildren(two);
		const items = rewards.map((item) => tree.getTreeItem(item));
		assert.deepEqual(
			items.map((item) => [item.label, (item.iconPath as vscode.ThemeIcon).id]),
			[
				['right', 'pass'],
				['halves', 'warning'],
			],
		);
		assert.match(String(items[0]?.description), /^0\.20 ± 0\.40, gold 100%/);
		const builtIns = listed.find(({ kind }) => kind === 'builtIns');
		assert.ok((await tree.getChildren(builtIns)).length >= 15);
	});
});
