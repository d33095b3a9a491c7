import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { formatProgress } from '../../base/format.ts';
import type { IndexProgress } from '../../protocol/rolloutIndex.ts';
import { commandIds } from '../ids.ts';
import type { WindowRolloutIndex } from './windowRolloutIndex.ts';

/** Delay before indexing is shown, in milliseconds. */
const quietMs = 1500;

/** Status bar item for indexing progress; clicking it pauses indexing. Loaded with the first request to the index. */
export class IndexingItem extends Disposable {
	readonly #rolloutIndex: WindowRolloutIndex;
	readonly #runs = new Map<string, IndexProgress>();
	#item: vscode.StatusBarItem | null = null;
	#since = 0;
	#paused = false;

	constructor(rolloutIndex: WindowRolloutIndex) {
		super();
		this.#rolloutIndex = rolloutIndex;
		this.register(rolloutIndex.onProgress((progress) => this.#take(progress)));
		this.register(
			rolloutIndex.onEnded(() => {
				this.#runs.clear();
				this.#paused = false;
				this.#show();
			}),
		);
		this.register(toDisposable(() => this.#item?.dispose()));
	}

	/** Pauses or resumes indexing. */
	async toggle(): Promise<void> {
		const paused = !this.#paused;
		await this.#rolloutIndex.request('pause', { paused });
		this.#paused = paused;
		this.#show();
	}

	#take(progress: IndexProgress): void {
		if (progress.state === 'indexing') this.#runs.set(progress.run, progress);
		else this.#runs.delete(progress.run);
		if (this.#runs.size === 0) this.#since = 0;
		else if (this.#since === 0) this.#since = Date.now();
		this.#show();
	}

	#show(): void {
		const slow = this.#since > 0 && Date.now() - this.#since > quietMs;
		if (!this.#paused && !slow) {
			this.#item?.hide();
			return;
		}
		this.#item ??= this.#create();
		const all = [...this.#runs.values()];
		const sum = (part: 'done' | 'total') => all.reduce((before, one) => before + one[part], 0);
		const percent = formatProgress(sum('done'), sum('total'));
		this.#item.text = this.#paused ? '$(debug-pause) Indexing paused' : `$(sync~spin) Indexing ${percent}`;
		this.#item.tooltip = this.#paused
			? 'Indexing is paused. Queries cover only the rollouts indexed so far. Click to resume.'
			: 'Indexing rollouts for queries. Click to pause.';
		this.#item.accessibilityInformation = {
			label: this.#paused
				? 'Rollout indexing is paused. Click to resume.'
				: `Indexing rollouts, ${percent}. Click to pause.`,
			role: 'button',
		};
		this.#item.show();
	}

	#create(): vscode.StatusBarItem {
		const item = vscode.window.createStatusBarItem('reasoningLab.indexing', vscode.StatusBarAlignment.Left, 4);
		item.name = 'Reasoning Lab: Indexing';
		item.command = commandIds.pauseIndexing;
		return item;
	}
}
