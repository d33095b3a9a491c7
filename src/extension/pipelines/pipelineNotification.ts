import type * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import type { PipelineView } from '../../runs/pipeline/pipelineView.ts';
import { claimNotice } from '../noticeClaims.ts';
import type { NoticeAction, Notices } from '../notices.ts';
import { settings } from '../settings.ts';
import { isLivePipeline, isResumablePipeline } from './pipelineState.ts';
import type { PipelineStore } from './pipelineStore.ts';

interface Needs {
	readonly pipelines: Pick<PipelineStore, 'own' | 'onDidChange'>;
	readonly notices: Pick<Notices, 'information' | 'error'>;
	readonly memory: vscode.Memento;
	/** Folder shared by all windows. */
	readonly storage: vscode.Uri;
	readonly openStage: (folder: string) => unknown;
	readonly openLog: (folder: string) => unknown;
	readonly exportReport: (folder: string) => unknown;
	readonly resume: (folder: string) => unknown;
}

const memoryKey = 'reasoningLab.pipelinesSeenAlive';

/**
 * Shows a single notification across all windows when a pipeline ends; its stages are not reported individually. Live
 * pipelines are remembered across reloads, so a pipeline that ends while the window is closed is also reported.
 */
export class PipelineNotification extends Disposable {
	readonly #needs: Needs;
	/** Maps folders to the pipeline and attempt last seen alive. */
	readonly #alive: Map<string, string>;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.#alive = new Map(Object.entries(needs.memory.get<Record<string, string>>(memoryKey, {})));
		this.register(needs.pipelines.onDidChange(() => this.#look()));
	}

	/** Registers a pipeline started in this window, because it might end before it is ever seen alive. */
	expect(folder: string, record: PipelineView['record']): void {
		this.#alive.set(folder, identityOf({ folder, record }));
		this.#remember();
		this.#look();
	}

	#look(): void {
		let changed = false;
		for (const view of this.#needs.pipelines.own) {
			const identity = identityOf(view);
			const seen = this.#alive.get(view.folder);
			if (isLivePipeline(view)) {
				if (seen === identity) continue;
				this.#alive.set(view.folder, identity);
				changed = true;
			} else if (seen !== undefined && seen === identity) {
				this.#alive.delete(view.folder);
				changed = true;
				void this.#tell(view, identity);
			}
		}
		if (changed) this.#remember();
	}

	#remember(): void {
		void this.#needs.memory.update(memoryKey, Object.fromEntries(this.#alive));
	}

	async #tell(view: PipelineView, identity: string): Promise<void> {
		const wish = settings.notifyRunEnd();
		const bad = view.status === 'failed' || view.status === 'crashed';
		if (wish === 'never' || (wish === 'crash' && !bad)) return;
		if (!(await claimNotice(this.#needs.storage, identity))) return;
		const { notices, openStage, openLog, exportReport, resume } = this.#needs;
		const { folder } = view;
		const stage: NoticeAction = { title: 'Open Stage', run: () => openStage(folder) };
		const log: NoticeAction = { title: 'Open Log', run: () => openLog(folder) };
		const report: NoticeAction = { title: 'Export Report', run: () => exportReport(folder) };
		const again: NoticeAction = { title: 'Resume', run: () => resume(folder) };
		const { pipelineEnd } = await import('./pipelineEnd.ts');
		const text = pipelineEnd(view);
		if (bad) await notices.error(text, [again, log]);
		else if (isResumablePipeline(view)) await notices.information(text, [again, stage]);
		else await notices.information(text, [report, stage]);
	}
}

function identityOf({ folder, record }: Pick<PipelineView, 'folder' | 'record'>): string {
	return `${folder}\n${record.id}\n${record.attempt}`;
}
