import * as vscode from 'vscode';
import { viewIds } from './ids.ts';

export interface ProgressWords {
	/** "Stopping addition" */
	readonly title: string;
	/** Why it takes long; said after the grace. */
	readonly why?: string;
	/** Whose bar shows it; default: the *Runs* view's. */
	readonly view?: string;
}

/** What is done sooner needs no notification. */
const graceMs = 2000;

/**
 * Runs a task with progress where it belongs: a bar in the view from the start, and after two seconds a notification
 * that says what is waited for and can be cancelled, which fires the signal.
 */
export async function withProgress<T>(words: ProgressWords, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
	const abort = new AbortController();
	const work = task(abort.signal);
	const settled = work.then(
		() => true,
		() => true,
	);
	const location = { viewId: words.view ?? viewIds.runs };
	void vscode.window.withProgress({ location, title: words.title }, () => settled);
	let timer: NodeJS.Timeout | undefined;
	const slow = new Promise<false>((resolve) => {
		timer = setTimeout(() => resolve(false), graceMs);
	});
	if (!(await Promise.race([settled, slow]))) {
		void vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: words.title, cancellable: true },
			(progress, token) => {
				token.onCancellationRequested(() => abort.abort());
				if (words.why !== undefined) progress.report({ message: words.why });
				return settled;
			},
		);
	}
	clearTimeout(timer);
	return work;
}
