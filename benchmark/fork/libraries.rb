# frozen_string_literal: true

require "open3"

# Shared libraries of this system to link a program with. They depend only on the C library, so that
# ten of them load exactly ten.
#
#   Libraries.found   # => ["/lib/x86_64-linux-gnu/libz.so.1", …]
#
# Their headers aren't needed. Sources: ldconfig(8), readelf(1).
module Skep
  module Benchmarks
    class Fork < Benchmark
      module Libraries
        NAMES = %w[libz.so.1 libzstd.so.1 libbz2.so.1.0 liblzma.so.5 liblz4.so.1 libexpat.so.1
                   libffi.so.8 libyaml-0.so.2 libgmp.so.10 libcrypto.so.3 libuuid.so.1
                   libcrypt.so.1 libtinfo.so.6 libpcre2-8.so.0 libunistring.so.2 libtasn1.so.6
                   libgcc_s.so.1 libm.so.6 libxxhash.so.0 libnettle.so.8 libattr.so.1 libcap.so.2
                   libcap-ng.so.0 libsepol.so.2 libudev.so.1 libblkid.so.1 libgpg-error.so.0
                   libsmartcols.so.1 libcom_err.so.2 libkeyutils.so.1 libseccomp.so.2
                   libgdbm.so.6 libdb-5.3.so].freeze
        NEEDED = /\(NEEDED\).*\[(.*)\]/
        HARMLESS = /\A(?:libc\.so|ld-linux)/
        PATH = "#{ENV.fetch("PATH", "")}:/usr/sbin:/sbin"
        private_constant :NAMES, :NEEDED, :HARMLESS, :PATH

        class << self
          # Returns them in the order in which a program links them.
          def found
            @found ||= NAMES.filter_map { |name| places[name] }.select { |path| alone?(path) }
          end

          private

          # The linker takes the first of a name; others are of other architectures.
          def places
            @places ||= output("ldconfig", "-p").scan(/^\s+(\S+) \(.*\) => (\S+)$/)
                                                .reverse.to_h
          end

          def alone?(path)
            output("readelf", "-d", path).scan(NEEDED).flatten.grep_v(HARMLESS).empty?
          end

          def output(*command)
            Open3.capture2e({ "PATH" => PATH, "LC_ALL" => "C" }, *command).first
          rescue Errno::ENOENT # the tool isn't installed
            ""
          end
        end
      end
      private_constant :Libraries
    end
  end
end
