import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { environmentTest, labeledTest, type TestOutcome } from '../../core/episode/environmentTests.ts';
import type { EnvironmentVerification } from '../../protocol/environmentVerification.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import type { EnvironmentVerifications } from '../environments/environmentVerifications.ts';
import { displayText } from '../runView.ts';
import type { EnvironmentTestItems } from './environmentTestItems.ts';

/** Runs environment tests, using the editor's verification once per file. */
export async function runEnvironmentTests(
	run: vscode.TestRun,
	tests: readonly vscode.TestItem[],
	needs: { readonly items: EnvironmentTestItems; readonly verifications: EnvironmentVerifications },
	token: vscode.CancellationToken,
): Promise<void> {
	for (const test of tests) run.enqueued(test);
	const files = Map.groupBy(tests, (test) => needs.items.node(test)?.file ?? '');
	for (const [file, chosen] of files) {
		if (token.isCancellationRequested) return;
		for (const test of chosen) run.started(test);
		const session = needs.verifications.session(file);
		await session.verify();
		await session.settled();
		const { verification, failure, phase } = session.state;
		for (const test of chosen) {
			if (phase !== 'done' || verification === null) {
				run.errored(test, failureMessage(failure ?? new Failure('cancelled', 'Canceled.'), file));
			} else report(run, test, needs.items, verification);
		}
	}
}

function report(
	run: vscode.TestRun,
	test: vscode.TestItem,
	items: EnvironmentTestItems,
	verification: EnvironmentVerification,
): void {
	const node = items.node(test);
	if (node === undefined || node.kind === 'file') return;
	const found = node.kind === 'policy' ? environmentTest(node.id, verification) : labeledTest(node.line, verification);
	if (found === undefined) {
		const message = 'The episode no longer exists in its file, or another episode ended the process first.';
		run.errored(test, new vscode.TestMessage(message));
	} else if (found.outcome === 'passed') run.passed(test);
	else if (found.outcome === 'failed') run.failed(test, messageOf(found, test, node.file));
	else {
		run.appendOutput(`${displayText(`${test.label}: ${found.message ?? ''}`, 300)}\r\n`, undefined, test);
		run.skipped(test);
	}
}

function messageOf(
	{ message = '', expected, actual, line }: TestOutcome,
	test: vscode.TestItem,
	file: string,
): vscode.TestMessage {
	const words = displayText(message, 2000);
	const said =
		expected === undefined || actual === undefined
			? new vscode.TestMessage(words)
			: vscode.TestMessage.diff(words, displayText(expected, 2000), displayText(actual, 2000));
	if (line !== undefined) said.location = locationOf(file, line);
	else if (test.uri !== undefined && test.range !== undefined)
		said.location = new vscode.Location(test.uri, test.range);
	return said;
}

function failureMessage(failure: Failure, file: string): vscode.TestMessage {
	const message = new vscode.TestMessage(displayText(failure.toString(), 2000));
	const place = failure instanceof LoadFailure ? failure : null;
	message.location = locationOf(place?.file ?? file, place?.line ?? 1);
	return message;
}

function locationOf(file: string, line: number): vscode.Location {
	return new vscode.Location(vscode.Uri.file(file), new vscode.Position(Math.max(0, line - 1), 0));
}
