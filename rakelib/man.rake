# frozen_string_literal: true

desc "Write man/skep.1 anew, of what each command's --help says"
task :man do
  mkdir_p "man", verbose: false
  sh "#{RbConfig.ruby} -Ilib exe/skep man > man/skep.1.new && mv man/skep.1.new man/skep.1",
     verbose: false
end
