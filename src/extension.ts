import type * as vscode from 'vscode';
import { RunsTree } from './host/runsTree.ts';

/** What `activate` hands to whoever asks for the extension's exports: the tests. */
export interface ExtensionApi {
	/** How long `activate` took, in milliseconds. */
	readonly activationMillis: number;
}

/** Composition root: builds the objects and hands them to each other. */
export function activate(context: vscode.ExtensionContext): ExtensionApi {
	const start = performance.now();
	context.subscriptions.push(new RunsTree());
	return { activationMillis: performance.now() - start };
}
