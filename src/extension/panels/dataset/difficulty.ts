import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { formatCounted } from '../../../base/format.ts';
import { policyKeyName } from '../../../policies/policyKey.ts';
import type { PolicySpec } from '../../../protocol/policySpec.ts';
import { keyless } from '../../../protocol/searchSpec.ts';
import { readPassRates } from '../../../runs/dataset/passRates.ts';
import { runEvaluation } from '../../evaluation/evaluationProcess.ts';
import { requireTrust } from '../../launchSettings.ts';
import type { PolicyWorkbench } from '../../policies/policyWorkbench.ts';
import { showInputBox, showQuickPick } from '../../quickInput.ts';
import type { RunStore } from '../../runStore.ts';
import { askPolicy } from '../../search/policyQuestion.ts';
import { settings } from '../../settings.ts';
import type { DatasetSession } from './datasetSession.ts';

export interface DifficultyNeeds {
	readonly extension: vscode.Uri;
	/** Folder for evaluations started here. */
	readonly storage: vscode.Uri;
	readonly store: RunStore;
	readonly policies: () => Promise<PolicyWorkbench>;
	/** Environment variables for a process that might serve a PyTorch checkpoint. */
	readonly environment: () => Promise<Readonly<Record<string, string>>>;
}

/** Environment variable that passes the server's API key to the process. */
const keyVariable = 'REASONING_LAB_POLICY_KEY';
/** Default number of samples per question. */
const proposedSamples = 8;

/** Asks where to get pass rates, and sets them in the session. */
export async function askDifficulty(session: DatasetSession, uri: vscode.Uri, needs: DifficultyNeeds): Promise<void> {
	const picked = await showQuickPick(
		[
			{
				label: '$(run) Evaluate a policy\u2026',
				description: `samples several completions for each of the ${session.shownRows} visible rows`,
				from: 'policy' as const,
			},
			{
				label: '$(folder) Use an evaluation\u2026',
				description: 'a folder with results for these questions',
				from: 'folder' as const,
			},
			{ label: '$(close) None', description: 'removes the column', from: 'none' as const },
		],
		{ title: 'Difficulty', placeHolder: 'Select a source for pass rates' },
	);
	if (picked === undefined) return;
	if (picked.from === 'none') return session.setPassRates(null);
	const folder = picked.from === 'folder' ? await askFolder(uri) : await estimate(session, uri, needs);
	if (folder !== undefined) await session.setPassRates(await readPassRates(folder));
}

async function askFolder(uri: vscode.Uri): Promise<string | undefined> {
	const workspace = vscode.workspace.workspaceFolders?.[0]?.uri;
	const beside = uri.scheme === 'file' ? vscode.Uri.file(dirname(uri.fsPath)) : workspace;
	const chosen = await vscode.window.showOpenDialog({
		title: 'Select an evaluation folder for these questions',
		openLabel: 'Use Pass Rates',
		canSelectFiles: false,
		canSelectFolders: true,
		...(beside === undefined ? {} : { defaultUri: beside }),
	});
	return chosen?.[0]?.fsPath;
}

async function estimate(session: DatasetSession, uri: vscode.Uri, needs: DifficultyNeeds): Promise<string | undefined> {
	requireTrust();
	const question = { title: 'Estimate difficulty', placeholder: 'Select a policy', step: 1, steps: 2 };
	const policy = await askPolicy(question, needs.store, needs.policies, null);
	if (policy === 'back' || policy === 'cancel') return undefined;
	const text = await showInputBox({
		title: 'Estimate difficulty',
		prompt: 'Samples per question',
		value: String(proposedSamples),
		validateInput: (input) => (/^[1-9]\d{0,2}$/.test(input.trim()) ? undefined : 'Enter a number from 1 to 999.'),
	});
	return text === undefined ? undefined : evaluateRows(session, uri, policy.value, Number(text), needs);
}

/**
 * Evaluates a policy on the visible rows. The folder depends only on the rows, the policy, and the number of samples,
 * so an interrupted evaluation resumes. @returns the evaluation folder
 */
async function evaluateRows(
	session: DatasetSession,
	uri: vscode.Uri,
	policy: PolicySpec,
	samples: number,
	needs: DifficultyNeeds,
): Promise<string> {
	const folder = join(needs.storage.fsPath, 'difficulty');
	const dataset = join(folder, `${hashOf([uri.toString(), session.stamp, session.viewIdentity])}.jsonl`);
	const rows = await session.exportProblems(dataset);
	if (rows === 0) {
		throw new Failure(
			'invalid',
			'No visible row has both a prompt and an answer.',
			'Select the prompt and answer columns.',
		);
	}
	const out = join(folder, hashOf([dataset, policy, samples]));
	const keys = policy.kind === 'openai' ? await (await needs.policies()).keys() : {};
	const key = policy.kind === 'openai' ? keys[policyKeyName(policy)] : undefined;
	// Key variables in settings apply only to the command line: workspace settings must not choose which secrets are
	// sent.
	const spec = key === undefined ? keyless(policy) : { ...policy, keyVariable };
	return vscode.window.withProgress(
		{
			location: vscode.ProgressLocation.Notification,
			title: `Asking ${formatCounted(rows, 'question')}`,
			cancellable: true,
		},
		async (progress, token) => {
			const abort = new AbortController();
			token.onCancellationRequested(() => abort.abort());
			let before = 0;
			const { folder: made } = await runEvaluation({
				...{ cli: join(needs.extension.fsPath, 'dist', 'cli.js'), node: settings.nodePath(), cwd: folder },
				args: ['--policy', JSON.stringify(spec), '--dataset', dataset, '--samples', String(samples), '--out', out],
				environment: { ...(await needs.environment()), ...(key === undefined ? {} : { [keyVariable]: key }) },
				signal: abort.signal,
				onProgress: (done, total) => {
					progress.report({ message: `${done} of ${total}`, increment: ((done - before) / Math.max(1, total)) * 100 });
					before = done;
				},
			});
			return made;
		},
	);
}

function hashOf(value: unknown): string {
	return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
