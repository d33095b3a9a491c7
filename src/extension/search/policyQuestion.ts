import { join } from 'node:path';
import * as vscode from 'vscode';
import { formatPercent } from '../../base/format.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { listCheckpoints } from '../../runs/checkpointFiles.ts';
import { commandIds } from '../ids.ts';
import type { PolicyWorkbench } from '../policies/policyWorkbench.ts';
import { runLabels } from '../runPresentation.ts';
import type { RunStore } from '../runStore.ts';
import { displayText, isForeign, isLive } from '../runView.ts';
import { askChoice, type Choice, type NoAnswer, type Question } from './questions.ts';

type Answer = { readonly value: PolicySpec } | NoAnswer;

/** Maximum number of runs to list checkpoints from. */
const maxRuns = 30;

/** Asks which policy to search with: a configured server, a checkpoint, a running engine, or a script. */
export async function askPolicy(
	question: Question,
	store: RunStore,
	policies: () => Promise<PolicyWorkbench>,
	proposed: PolicySpec | null,
): Promise<Answer> {
	const same = proposed === null ? null : JSON.stringify(proposed);
	for (;;) {
		const answer = await askChoice<PolicySpec | 'script' | 'server'>(
			question,
			Promise.all([policies().then((workbench) => workbench.serverChoices()), runChoices(store)]).then((lists) => [
				...lists.flat(),
				{
					label: '$(add) Add a server...',
					description: 'any OpenAI-compatible server',
					value: 'server' as const,
				},
				{
					label: '$(file-code) A script...',
					description: 'replays canned completions',
					value: 'script' as const,
				},
			]),
			(value) => JSON.stringify(value) === same,
		);
		if (answer === 'back' || answer === 'cancel') return answer;
		if (answer.value === 'server') {
			const added = await vscode.commands.executeCommand<PolicySpec | undefined>(commandIds.addPolicy);
			if (added !== undefined) return { value: added };
			continue;
		}
		if (answer.value !== 'script') return { value: answer.value };
		const chosen = await vscode.window.showOpenDialog({
			title: 'Select a policy script',
			filters: { Scripts: ['json', 'jsonl'] },
		});
		const file = chosen?.[0]?.fsPath;
		if (file !== undefined) return { value: { kind: 'scripted', file } };
	}
}

/** A run's policy. */
export interface RunPolicy {
	/** Name of the run, with project and time if others share it, and the step of a checkpoint. */
	readonly label: string;
	/** Known facts about the weights: stage, accuracy. */
	readonly detail: string;
	readonly spec: PolicySpec;
	readonly best: boolean;
}

/** Returns the policies of the workspace's runs: newest run first, with its current weights before its checkpoints. */
export async function runPolicies(store: Pick<RunStore, 'own' | 'runs'>): Promise<RunPolicy[]> {
	const found: RunPolicy[] = [];
	const labelOf = runLabels(store.runs);
	for (const view of store.own.filter((run) => !isForeign(run)).slice(0, maxRuns)) {
		const name = labelOf(view);
		if (isLive(view)) {
			found.push({
				label: name,
				detail: 'current weights',
				spec: { kind: 'engine', run: view.folder },
				best: false,
			});
		}
		for (const { step, path, stage, score, best } of (await listCheckpoints(view.folder).catch(() => [])).reverse()) {
			const parts = [
				stage === null ? null : displayText(stage, 40),
				score === null ? null : `accuracy ${formatPercent(score)}`,
				best ? 'best' : null,
			];
			found.push({
				label: `${name}, step ${step}`,
				detail: parts.filter((part) => part !== null).join(', '),
				spec: { kind: 'checkpoint', folder: join(path) },
				best,
			});
		}
	}
	return found;
}

async function runChoices(store: RunStore): Promise<Choice<PolicySpec>[]> {
	return (await runPolicies(store)).map(({ label, detail, spec }) => ({
		label: `$(${spec.kind === 'engine' ? 'pulse' : 'save'}) ${label}`,
		description: detail,
		value: spec,
	}));
}
