# frozen_string_literal: true

require "fileutils"
require_relative "typist"

# A user with a fresh clone of the repository, with separate directories and a separate GEM_HOME.
#
#   user = NewUser.new(directory)
#   user.builder.type("gem build skep.gemspec")               # in a clone, without ignored files
#   user.typist.start("skep run hello.rb")                    # in an empty directory
#   user.typist(kafka: true)                                  # where karafka-rdkafka is installed
#   user.write("hello.rb", source)
#   user.close
class NewUser
  ROOT = File.expand_path("../../..", __dir__)
  IGNORED = %w[.git .bundle Gemfile.lock tmp vendor].freeze

  # Returns the gem paths that have karafka-rdkafka, so that no network is needed to install it.
  def self.kafka_paths = Gem.path.select { |path| Dir["#{path}/gems/karafka-rdkafka-*"].any? }

  def initialize(home)
    @home = home
    @typists = []
    Dir.mkdir(mine)
  end

  def builder(kafka: false) = typist_in(checkout, kafka)
  def typist(kafka: false) = typist_in(mine, kafka)
  def write(name, source) = File.write("#{mine}/#{name}", source)
  def installed = Dir.children("#{@home}/gems/gems")
  def close = @typists.each(&:close)

  private

  def mine = "#{@home}/mine"

  def typist_in(directory, kafka)
    gems = kafka ? NewUser.kafka_paths : []
    Typist.new(directory, environment(gems)).tap { |typist| @typists << typist }
  end

  # Copies the checkout once, like a clone, with uncommitted changes.
  def checkout = @checkout ||= copy("#{@home}/skep")

  def copy(clone)
    Dir.mkdir(clone)
    FileUtils.cp_r((Dir.children(ROOT) - IGNORED).map { |name| "#{ROOT}/#{name}" }, clone)
    FileUtils.rm(Dir["#{clone}/skep*/lib/skep/*.so"])
    clone
  end

  # Without Bundler's variables.
  def environment(gems)
    { "PATH" => "#{@home}/gems/bin:#{RbConfig::CONFIG["bindir"]}:#{ENV.fetch("PATH")}",
      "HOME" => @home, "LANG" => "C.UTF-8", "MAKEFLAGS" => "-j2",
      "SKEP_RUN_DIR" => "#{@home}/run",
      "GEM_HOME" => "#{@home}/gems", "GEM_PATH" => ["#{@home}/gems", *gems].join(":") }
  end
end
