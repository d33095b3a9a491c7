import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { LoadFailureData } from '../protocol/rewardHost.ts';

/** A reward file that cannot be loaded, with the place that is to blame where it is known. */
export class LoadFailure extends Failure {
	/** Absolute; the reward file, or a file that it imports. */
	readonly file: string;
	/** From 1. */
	readonly line?: number;
	/** What was raised, without the place. */
	readonly detail: string;
	/** What may be done about it, where that is more than to correct the file. */
	readonly advice?: string;
	/** Frames of user code, innermost last for Python, first for JavaScript. */
	readonly frames?: string;

	/** @param rewardFile to blame when the host does not name a file */
	constructor(data: LoadFailureData, rewardFile: string) {
		const file = data.file ?? rewardFile;
		const place = data.line === undefined ? basename(file) : `${basename(file)}:${data.line}`;
		super(data.reason, `${place}: ${data.message.replace(/[.]?$/, '.')}`, data.action ?? 'Fix the file.');
		this.file = file;
		if (data.line !== undefined) this.line = data.line;
		this.detail = data.message;
		if (data.action !== undefined) this.advice = data.action;
		if (data.stack !== undefined) this.frames = data.stack;
	}
}
