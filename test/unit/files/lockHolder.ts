// Acquires the lock named by its argument, prints a message, and keeps the lock until killed.
import { Failure } from '../../../src/base/failure.ts';
import { FileLock } from '../../../src/files/fileLock.ts';

const [folder = '', hold = 'hold'] = process.argv.slice(2);
try {
	const lock = await FileLock.acquire(folder, 'The test');
	console.log('held');
	if (hold === 'release') await lock.release();
	else setInterval(() => {}, 1000);
} catch (error) {
	console.log(error instanceof Failure ? error.reason : String(error));
}
