# frozen_string_literal: true

# Errors about what the system, or the Ruby fallback, can't do.
module Skep
  module OS
    # Raised if this system, or the Ruby fallback, can't do what was asked.
    #
    #   raise Unsupported.new(what: "watching process 42", because: "it is no child process")
    class Unsupported < Error
      def initialize(what:, because:)
        super("#{what} isn't possible here, as #{because}: on Linux build skep's C extension " \
              "(skep/skep_ext) and unset SKEP_PURE")
      end
    end

    # A folder has no room for a page that processes share. Only the Ruby fallback needs a folder.
    class PageFolderFull < Errno::ENOSPC
    end

    # The system refuses a call that skep needs: a seccomp filter, an old kernel, a limit.
    #
    #   rescue SystemCallError => e
    #     raise OS::Refused.of(e) || e
    #
    # The message says what to do next. SKEP_PURE=1 helps if the fallbacks don't use the call.
    class Refused < Error
      CALL = /[a-z]\w+\([A-Z0-9_]+\)/
      PURE = /\A(?:memfd_create|epoll_\w+|prctl|poll)\(/
      LIMITS = {
        Errno::EMFILE => "no file descriptor is left: raise the limit of open files (ulimit -n, " \
                         "LimitNOFILE=)",
        Errno::ENFILE => "the system has no file descriptor left: raise fs.file-max",
        Errno::EFBIG => "the memory that its processes share is larger than a file may be: raise " \
                        "the limit of file sizes (ulimit -f, LimitFSIZE=)",
        PageFolderFull => "no room is left in /dev/shm for the memory that its processes share: " \
                          "free some, make it larger (docker run --shm-size), or build skep's " \
                          "C extension"
      }.freeze
      CALLS = [Errno::EPERM, Errno::EACCES, Errno::ENOSYS, Errno::EINVAL, Errno::ENOTSUP].freeze
      UNNAMED = "a system call that Ruby needs, such as ppoll(2)"
      CURE = "allow it, or set SKEP_PURE=1 to do without"
      ALLOW = "allow it (a seccomp filter, an old kernel?)"
      private_constant :UNNAMED, :CURE, :ALLOW, :CALL, :PURE, :LIMITS, :CALLS

      # Raises Refused on a Linux without /proc, which each mold needs.
      def self.check
        return if !RUBY_PLATFORM.include?("linux") || File.exist?("/proc/self/stat")

        raise Refused, "there is no /proc here: mount it (mount -t proc proc /proc)"
      end

      # Returns nil for an error of another kind.
      def self.of(error)
        what = LIMITS[error.class] || (call(error) if CALLS.include?(error.class))
        new(what) if what
      end

      # Returns the sentence. skep's calls name themselves ("epoll_create1(2)"); an error without a
      # name is from a call of Ruby's.
      def self.call(error)
        what, _, name = error.message.partition(" - ")
        name = name.delete_suffix("(2)") == "setpgid" ? "setpgid(2)" : name[CALL]
        advice = name&.match?(PURE) && OS.native? ? CURE : ALLOW
        "the system refuses #{name || UNNAMED}, #{what.downcase}: #{advice}"
      end
      private_class_method :call
    end
  end
end
