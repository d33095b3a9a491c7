import { Failure } from '../../../base/failure.ts';
import { checkDevices } from '../createLearner.ts';

/** Prints which GPU providers compute correctly on this machine, as one line of JSON. Returns the exit status. */
export async function printDevices(): Promise<number> {
	try {
		process.stdout.write(`${JSON.stringify({ devices: await checkDevices() })}\n`);
		return 0;
	} catch (error) {
		process.stderr.write(`${Failure.from(error).toString()}\n`);
		return 1;
	}
}
