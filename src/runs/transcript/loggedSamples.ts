import { sampleTitle } from '../../core/transcript/agentLogs.ts';
import type { ZipArchive } from '../../files/zipArchive.ts';
import type { ZipMember } from '../../files/zipMember.ts';

/** Sample in an Inspect log, which is read only when it is shown. */
export interface LoggedSample {
	readonly title: string;
	/** Changes with the sample. */
	readonly stamp: string;
	/** Size in bytes of its JSON text. */
	readonly size: number;
	/** Reads its JSON text. Fails like `ZipArchive.pieces`. */
	readonly pieces: () => AsyncIterable<Buffer>;
}

const sampleName = /^samples\/([^/]+)\.json$/;
const epochName = /^(.+)_epoch_(\d{1,9})$/;

/** Lists the samples of an `.eval` file in its order. If a sample was written more than once, only the last copy counts. */
export function archivedSamples(archive: ZipArchive): LoggedSample[] {
	const members = new Map<string, ZipMember>();
	for (const member of archive.members) {
		const name = sampleName.exec(member.name)?.[1];
		if (name !== undefined) members.set(name, member);
	}
	return [...members].map(([name, member]) => {
		const [, id = name, epoch = '1'] = epochName.exec(name) ?? [];
		return {
			title: sampleTitle(id, Number(epoch)),
			stamp: `${member.offset}:${member.size}:${member.crc}`,
			size: member.size,
			pieces: () => archive.pieces(member),
		};
	});
}
