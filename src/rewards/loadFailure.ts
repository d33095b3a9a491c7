import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { LoadFailureData } from '../protocol/rewardHost.ts';

/** A reward file that cannot be loaded, with the location of the error if known. */
export class LoadFailure extends Failure {
	/** Absolute path to the reward file or to a file that it imports. */
	readonly file: string;
	/** 1-based line number. */
	readonly line?: number;
	/** Error message without the location. */
	readonly detail: string;
	/** How to fix the error, if there is more specific advice than "Fix the file." */
	readonly advice?: string;
	/** Stack frames in user code. The innermost frame is last in Python and first in JavaScript. */
	readonly frames?: string;

	/** @param rewardFile file to blame if the host does not specify one */
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
