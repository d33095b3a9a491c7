import { basename } from 'node:path';
import { Disposable } from '../../../base/disposable.ts';
import type { Failure } from '../../../base/failure.ts';
import { RunCurves } from '../../../core/comparison/runCurves.ts';
import type { ComparedRun } from '../../../protocol/runComparisonMessages.ts';
import type { AnyRunRecord, RunStatus } from '../../../protocol/runRecord.ts';
import { ownFormat } from '../../../runs/annotationFolder.ts';
import { followRun } from '../../../runs/followRun.ts';
import type { RunFollower } from '../../../runs/runContent.ts';
import type { RunTailEvent } from '../../../runs/runTail.ts';
import { displayText } from '../../runView.ts';
import { GivenName } from '../givenName.ts';

/** The part of a run that changed. */
export type ComparedChange = 'run' | 'curves';

/** A run in a comparison, followed from its first line with bounded memory. */
export class FollowedRun extends Disposable {
	readonly folder: string;
	readonly curves = new RunCurves();
	readonly #follower: RunFollower;
	readonly #name: GivenName;
	readonly #onChange: (change: ComparedChange) => void;
	#record: AnyRunRecord | null = null;
	#status: RunStatus | null = null;
	#failure: Failure | null = null;
	#loaded = false;

	constructor(folder: string, onChange: (change: ComparedChange) => void, pollMs?: number) {
		super();
		this.folder = folder;
		this.#onChange = onChange;
		this.#name = new GivenName(folder);
		this.#follower = this.register(followRun(folder, pollMs === undefined ? {} : { pollMs }));
		this.register(this.#follower.onEvent((event) => this.#take(event)));
		void this.#lookAtName();
		this.#follower.start();
	}

	get state(): Omit<ComparedRun, 'seedGroup'> {
		const record = this.#record;
		const failure = this.#failure;
		return {
			folder: this.folder,
			name: displayText(this.#name.value ?? (record?.name.trim() || basename(this.folder))),
			trainer: displayText(record?.foreign?.title ?? record?.engine ?? '', 80),
			format: record?.foreign?.format ?? ownFormat,
			status: record === null ? null : this.#status,
			fault: failure && {
				message: displayText(failure.message, 1000),
				action: failure.action === undefined ? null : displayText(failure.action, 400),
			},
			step: this.curves.lastStep ?? record?.step ?? null,
			loaded: this.#loaded,
			droppedNames: this.curves.droppedNames,
		};
	}

	refresh(): Promise<void> {
		return this.#follower.refresh();
	}

	#take(event: RunTailEvent): void {
		switch (event.kind) {
			case 'reset':
				this.curves.clear();
				this.#loaded = false;
				this.#onChange('curves');
				break;
			case 'record':
				this.#record = event.record;
				this.#status = event.status;
				this.#failure = null;
				this.#onChange('run');
				break;
			case 'metrics':
				this.curves.append(event.lines);
				this.#onChange('curves');
				break;
			case 'error':
				this.#failure = event.failure;
				this.#loaded = true;
				this.#onChange('run');
				break;
			case 'synced':
				if (!this.#loaded) {
					this.#loaded = true;
					this.#onChange('run');
				}
				void this.#lookAtName();
				break;
		}
	}

	async #lookAtName(): Promise<void> {
		if ((await this.#name.look()) && !this.disposed) this.#onChange('run');
	}
}
