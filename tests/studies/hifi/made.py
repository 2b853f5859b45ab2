"""Scenes that nobody played."""

from studies.hifi.scene import Done, Look, Seen


def seen(scene, queue_frames, utilisation=1.0, rates=(50.0, 50.0), **tcp):
    """A queue that stands at these frames in turn, and flows of these rates in Mb/s."""
    begin, end = scene.window
    step = (end - begin) / (len(queue_frames) - 1)
    bytes_per_s = utilisation * scene.mbps * 1e6 / 8
    looks = [
        Look(begin + n * step, round(frames * scene.frame_bytes), {}, round(bytes_per_s * n * step))
        for n, frames in enumerate(queue_frames)
    ]
    bins = round(scene.seconds / 0.1)
    flows = [
        Done(n, 0.0, 0.0, 0.0, scene.seconds, 0, (round(rate * 1e6 / 8 * 0.1),) * bins, 0)
        for n, rate in enumerate(rates, start=1)
    ]
    return Seen(scene, tuple(flows), tuple(looks), tcp, 7)
