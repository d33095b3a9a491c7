import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import { openPolicy } from '../../policies/openPolicy.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { launchSettings } from '../launchSettings.ts';
import type { PolicyWorkbench } from './policyWorkbench.ts';

export interface OpeningNeeds {
	/** The extension's folder. */
	readonly extension: vscode.Uri;
	/** Name of this extension in engine logs. */
	readonly client: string;
	readonly policies: () => Promise<PolicyWorkbench>;
	/** Returns the environment variables for a process that might serve a PyTorch checkpoint. */
	readonly torch: () => Promise<Readonly<Record<string, string>>>;
}

/** Returns why policies are disabled in this window, or null if they are enabled. */
export const policiesForbidden = (): string | null =>
	vscode.workspace.isTrusted ? null : 'Policies are disabled because this workspace is not trusted.';

/**
 * Opens a policy using this window's API keys and interpreters. Fails with `denied` in an untrusted workspace, and
 * with the errors of `openPolicy`.
 * @param rawPrompts whether the caller adds templates itself
 */
export async function openInWindow(
	spec: PolicySpec,
	needs: OpeningNeeds,
	{ signal, rawPrompts }: { readonly signal: AbortSignal; readonly rawPrompts: boolean },
): Promise<OpenPolicy> {
	const reason = policiesForbidden();
	if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
	const [programs, keys, environment] = await Promise.all([
		launchSettings(needs.extension),
		spec.kind === 'openai' ? needs.policies().then((workbench) => workbench.keys()) : {},
		spec.kind === 'checkpoint' ? needs.torch() : {},
	]);
	const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
	const { engine, node } = programs;
	return openPolicy(spec, {
		...{ engine, keys, environment, signal, folder, rawPrompts },
		...(node === undefined ? {} : { node }),
		client: needs.client,
	});
}
