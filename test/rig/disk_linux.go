package rig

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Disk is a file system that keeps its files in another directory, and does faults to them. What it is told to lose are
// writes of which no sync was acknowledged, as with a real disk whose sync failed.
type Disk struct {
	dir    string
	server *fuse.Server

	mu      sync.Mutex // Guards what follows, and what is not synced of each file.
	failing syscall.Errno
	failed  int
	delay   time.Duration
	hung    chan struct{} // closed when syncs go on; nil unless they hang
	waiting int           // syncs that hang
}

// MountDisk mounts a disk at a directory, whose files are in another one. It needs FUSE and the right to mount; the error
// says what is missing. The caller closes it.
func MountDisk(at, files string) (*Disk, error) {
	root, err := fs.NewLoopbackRoot(files)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", files, err)
	}
	loopback, is := root.(*fs.LoopbackNode)
	if !is {
		return nil, fmt.Errorf("a disk's root is a %T", root)
	}
	d := &Disk{dir: at}
	top := &diskNode{LoopbackNode: fs.LoopbackNode{RootData: loopback.RootData}, disk: d}
	top.RootData.RootNode = top
	d.server, err = fs.Mount(at, top, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "tenure-rig", Name: "tenure"},
	})
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", at, err)
	}
	return d, nil
}

// Close unmounts the disk. No process may use it any more.
func (d *Disk) Close() error {
	if err := d.server.Unmount(); err != nil {
		return fmt.Errorf("unmount %s: %w", d.dir, err)
	}
	d.server.Wait()
	return nil
}

// FailSyncs has every sync from now on fail, and what was to be synced is lost. Zero has them succeed again.
func (d *Disk) FailSyncs(with syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing = with
}

// FailedSyncs returns how many syncs have failed.
func (d *Disk) FailedSyncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// SlowSyncs has every sync from now on take so much longer.
func (d *Disk) SlowSyncs(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = by
}

// HangSyncs has every sync from now on wait until release is called.
func (d *Disk) HangSyncs() (release func()) {
	hung := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hung = hung
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.hung, d.waiting = nil, 0
		close(hung)
	})
}

// HungSyncs returns how many syncs hang now.
func (d *Disk) HungSyncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting
}

// diskNode is a file or directory of the disk.
type diskNode struct {
	fs.LoopbackNode

	disk *Disk
}

var (
	_ fs.NodeWrapChilder = (*diskNode)(nil)
	_ fs.NodeOpener      = (*diskNode)(nil)
	_ fs.NodeCreater     = (*diskNode)(nil)
)

// WrapChild makes what is below a node one of the disk's, too.
func (n *diskNode) WrapChild(_ context.Context, _ fs.InodeEmbedder) fs.InodeEmbedder {
	return &diskNode{LoopbackNode: fs.LoopbackNode{RootData: n.RootData}, disk: n.disk}
}

// Open opens a file.
func (n *diskNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, out, errno := n.LoopbackNode.Open(ctx, flags)
	return n.disk.file(h), out, errno
}

// Create makes a file and opens it.
func (n *diskNode) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	child, h, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return child, n.disk.file(h), fuseFlags, errno
}

// opened is what an open file of the underlying directory can do.
type opened interface {
	fs.FileReader
	fs.FileWriter
	fs.FileFsyncer
	fs.FileFlusher
	fs.FileReleaser
	fs.FileGetattrer
	fs.FileSetattrer
	fs.FileAllocater
	fs.FileLseeker
}

// diskFile is an open file of the disk.
type diskFile struct {
	opened

	disk     *Disk
	unsynced []extent
}

// extent is a part of a file that was written.
type extent struct{ off, size int64 }

// file returns an open file of the disk; nil if it was not opened.
func (d *Disk) file(h fs.FileHandle) fs.FileHandle {
	if f, is := h.(opened); is {
		return &diskFile{opened: f, disk: d}
	}
	return nil
}

// Write remembers what is not synced yet.
func (f *diskFile) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	f.unsynced = append(f.unsynced, extent{off, int64(len(data))})
	f.disk.mu.Unlock()
	return f.opened.Write(ctx, data, off)
}

// Fsync syncs, late or not at all if the disk is to do so.
func (f *diskFile) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	f.disk.mu.Lock()
	if hung := f.disk.hung; hung != nil {
		f.disk.waiting++
		f.disk.mu.Unlock()
		<-hung
		f.disk.mu.Lock()
	}
	failing, delay, lost := f.disk.failing, f.disk.delay, f.unsynced
	f.unsynced = nil
	if failing != 0 {
		f.disk.failed++
	}
	f.disk.mu.Unlock()
	if delay > 0 {
		<-time.NewTimer(delay).C
	}
	if failing == 0 {
		return f.opened.Fsync(ctx, flags)
	}
	for _, e := range lost {
		if _, errno := f.opened.Write(ctx, make([]byte, e.size), e.off); errno != 0 {
			return errno
		}
	}
	return failing
}

// MountDisk mounts a disk, with the files that are there, at the data directory. The process must not be running, and it must
// have ended before the disk is closed.
func (m *Member) MountDisk() (*Disk, error) {
	files := m.dir + ".files"
	if err := os.Rename(m.dir, files); err != nil {
		return nil, err
	}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, err
	}
	return MountDisk(m.dir, files)
}

// LimitFileSize has every write of the running process fail that would make a file larger.
func (m *Member) LimitFileSize(bytes uint64) error {
	limit := &unix.Rlimit{Cur: bytes, Max: bytes}
	if err := unix.Prlimit(m.cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, nil); err != nil {
		return fmt.Errorf("limit the size of files: %w", err)
	}
	return nil
}
